// @vitest-environment jsdom
import { expect, test, vi } from "vitest";

import { after, drawn, press } from "../testing.ts";
import { Menu } from "./Menu.tsx";

const run = vi.fn();

function row() {
  return drawn(
    <div class="row">
      <a href="/threads/t">A thread</a>
      <Menu label="More" items={[{ label: "Pin", icon: "pin", run }]} within=".row">
        …
      </Menu>
    </div>,
  );
}

/** Opens a context menu; returns whether the browser's own appears. */
async function contextMenu(on: HTMLElement, more: MouseEventInit): Promise<boolean> {
  let own = true;
  await after(() => {
    own = on.dispatchEvent(new MouseEvent("contextmenu", { bubbles: true, cancelable: true, ...more }));
  });
  return own;
}

test("a right click on the row opens its menu at the pointer, and the button opens it at the button", async () => {
  const view = row();
  expect(await contextMenu(view.one("a"), { button: 2, clientX: 40, clientY: 30 })).toBe(false);
  expect(view.one(".menu").style.left).toBe("40px");
  expect(view.one(".menu").style.top).toBe("30px");
  expect(document.activeElement).toBe(view.one("[role=menuitem]"));
  await press(view.one("[role=menuitem]"), "Escape");
  expect(view.all(".menu")).toEqual([]);
  expect(document.activeElement).toBe(view.button("More"));
  await after(() => view.button("More").click());
  expect(view.one(".menu").style.left).toBe("8px");
  await after(() => view.one("[role=menuitem]").click());
  expect(run).toHaveBeenCalledOnce();
});

test("the menu key opens the menu at its button, and Shift leaves the browser's menu", async () => {
  const view = row();
  expect(await contextMenu(view.one("a"), { button: 2, shiftKey: true })).toBe(true);
  expect(view.all(".menu")).toEqual([]);
  // Shift and F10 are the menu key of keyboards without one.
  expect(await contextMenu(view.one("a"), { button: 0, shiftKey: true })).toBe(false);
  expect(view.one(".menu").style.left).toBe("8px");
});
