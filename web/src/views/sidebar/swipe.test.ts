import { beforeEach, expect, test, vi } from "vitest";

import { swipe } from "./swipe.ts";

let row: HTMLElement;
let end: () => void;
const run = vi.fn();

beforeEach(() => {
  run.mockReset();
  row = document.createElement("div");
  row.setPointerCapture = () => {};
  Object.defineProperty(row, "clientWidth", { value: 250 });
  end = swipe(row, (direction) => (direction === "right" ? { label: "Allow once", run } : undefined));
});

function touch(type: string, clientX: number, clientY = 0, more: PointerEventInit = {}): void {
  row.dispatchEvent(new PointerEvent(type, { pointerType: "touch", isPrimary: true, pointerId: 1, clientX, clientY, ...more }));
}

test("a swipe beyond the threshold runs the action of its direction, and says so before", () => {
  touch("pointerdown", 0);
  touch("pointermove", 60);
  expect([row.dataset.swipe, row.dataset.swipeLabel]).toEqual(["right", "Allow once"]);
  touch("pointermove", 110);
  expect([row.hasAttribute("data-armed"), row.dataset.swipeLabel]).toEqual([true, "Release: Allow once"]);
  expect(run).not.toHaveBeenCalled();
  touch("pointerup", 110);
  expect(run).toHaveBeenCalledTimes(1);
  expect(row.hasAttribute("data-swiping")).toBe(false);
});

test.each<[string, () => void]>([
  ["a short one", () => touch("pointermove", 60)],
  ["one that comes back", () => [touch("pointermove", 120), touch("pointermove", 40)]],
  ["one that turns down", () => [touch("pointermove", 120), touch("pointermove", 120, 40)]],
  ["a vertical move", () => [touch("pointermove", 5, 20), touch("pointermove", 140, 20)]],
  ["one that the browser takes over", () => [touch("pointermove", 120), touch("pointercancel", 120)]],
  ["a direction without an action", () => touch("pointermove", -140)],
  ["a second finger", () => [touch("pointermove", 120), touch("pointerdown", 5, 5, { isPrimary: false, pointerId: 2 })]],
])("%s does nothing", (_, act) => {
  touch("pointerdown", 0);
  act();
  touch("pointerup", 0);
  expect(run).not.toHaveBeenCalled();
  expect(row.hasAttribute("data-armed")).toBe(false);
});

test("a short swipe reveals the buttons until the user presses elsewhere, and does not answer", () => {
  const onReveal = vi.fn();
  end();
  end = swipe(row, (direction) => (direction === "right" ? { label: "Allow once", run } : undefined), onReveal);
  document.body.append(row);
  const short = (dx: number) => {
    touch("pointerdown", 0);
    touch("pointermove", dx);
    touch("pointerup", dx);
  };
  short(30);
  short(-60);
  expect(row.hasAttribute("data-revealed")).toBe(false);
  short(60);
  short(60);
  expect(row.hasAttribute("data-revealed")).toBe(true);
  expect(onReveal).toHaveBeenCalledTimes(1);
  touch("pointerdown", 0);
  touch("pointerup", 0);
  expect(row.hasAttribute("data-revealed")).toBe(true);
  document.body.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
  expect(row.hasAttribute("data-revealed")).toBe(false);
  expect(run).not.toHaveBeenCalled();
  row.remove();
});

test("the tap after a swipe clicks at once: only the click of the swipe itself is suppressed", () => {
  const button = row.appendChild(document.createElement("button"));
  const clicked = vi.fn();
  button.addEventListener("click", clicked);
  touch("pointerdown", 0);
  touch("pointermove", 60);
  touch("pointerup", 60);
  touch("pointerdown", 5);
  touch("pointerup", 5);
  button.click();
  expect(clicked).toHaveBeenCalledTimes(1);
});

test("a mouse does not swipe", () => {
  touch("pointerdown", 0, 0, { pointerType: "mouse" });
  touch("pointermove", 140, 0, { pointerType: "mouse" });
  touch("pointerup", 140, 0, { pointerType: "mouse" });
  expect(run).not.toHaveBeenCalled();
});

test("the end of a swipe is not a click", () => {
  const clicked = vi.fn();
  row.addEventListener("click", clicked);
  touch("pointerdown", 0);
  touch("pointermove", 110);
  touch("pointerup", 110);
  row.click();
  expect(clicked).not.toHaveBeenCalled();
  row.click();
  expect(clicked).toHaveBeenCalledTimes(1);
  end();
});
