// @vitest-environment jsdom
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { possibleWidth, sidebarWidth } from "../../app/sidebar-width.ts";
import { after, drawn, press } from "../testing.ts";
import { SidebarEdge } from "./SidebarEdge.tsx";

vi.stubGlobal("ResizeObserver", class {
  observe() {}
  disconnect() {}
});

const token = () => document.documentElement.style.getPropertyValue("--sidebar-width");

beforeEach(() => {
  vi.stubGlobal("innerWidth", 1440);
  // The tests' DOM has no layout.
  vi.spyOn(HTMLElement.prototype, "getBoundingClientRect").mockImplementation(() => ({ left: 0, width: sidebarWidth.value ?? 300 }) as DOMRect);
  HTMLElement.prototype.setPointerCapture = () => {};
});
afterEach(() => {
  sidebarWidth.value = null;
  vi.restoreAllMocks();
});

function edge() {
  const view = drawn(
    <aside>
      <SidebarEdge />
    </aside>,
  );
  return view.one("[role=separator]");
}

const pointer = (on: HTMLElement, type: string, clientX: number) =>
  after(() => on.dispatchEvent(new MouseEvent(type, { bubbles: true, cancelable: true, clientX })));

test("the width stays between its bounds and half of the window", () => {
  expect([-1, 219, 300.4, 9_999].map((wanted) => possibleWidth(wanted, 1440))).toEqual([220, 220, 300, 560]);
  expect(possibleWidth(500, 800)).toBe(400);
  expect(possibleWidth(500, 100)).toBe(220);
});

test("the edge is dragged, and a double click resets the width", async () => {
  const at = edge();
  await pointer(at, "pointerdown", 300);
  await pointer(at, "pointermove", 420);
  expect(token()).toContain("420px");
  expect(sidebarWidth.value).toBeNull();
  await pointer(at, "pointerup", 420);
  expect(sidebarWidth.value).toBe(420);
  await pointer(at, "pointermove", 200);
  expect(sidebarWidth.value).toBe(420);
  await pointer(at, "dblclick", 420);
  expect([sidebarWidth.value, token()]).toEqual([null, ""]);
});

test("a click sets nothing, and Escape takes a drag back", async () => {
  const at = edge();
  await pointer(at, "pointerdown", 300);
  await pointer(at, "pointerup", 300);
  expect(sidebarWidth.value).toBeNull();
  await pointer(at, "pointerdown", 300);
  await pointer(at, "pointermove", 420);
  await press(at, "Escape");
  await pointer(at, "pointerup", 420);
  expect([sidebarWidth.value, token()]).toEqual([null, ""]);
});

test("the arrow keys, Home, End and Enter change the width", async () => {
  const at = edge();
  await press(at, "ArrowRight");
  expect(sidebarWidth.value).toBe(316);
  await press(at, "ArrowLeft");
  expect(sidebarWidth.value).toBe(300);
  await press(at, "End");
  expect(sidebarWidth.value).toBe(560);
  await press(at, "Home");
  expect(sidebarWidth.value).toBe(220);
  await press(at, "ArrowLeft", { ctrlKey: true });
  expect(sidebarWidth.value).toBe(220);
  await press(at, "Enter");
  expect(sidebarWidth.value).toBeNull();
});
