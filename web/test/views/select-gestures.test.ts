// @vitest-environment jsdom
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { toggled, withRange } from "../../src/state/selection.ts";
import { gestures } from "../../src/views/sidebar/select-gestures.ts";
import { rove } from "../../src/views/sidebar/roving.ts";

const order = ["a", "b", "c", "d"];
const opened = vi.fn();
let selected: ReadonlySet<string> = new Set();
let isTouch = false;
let list: HTMLElement;
let end: () => void;

beforeEach(() => {
  vi.useFakeTimers();
  selected = new Set();
  isTouch = false;
  opened.mockReset();
  list = document.createElement("nav");
  list.innerHTML = `<ul class="side-rows">${order
    .map((id) => `<li class="row${id === "a" ? " is-current" : ""}" data-thread="${id}"><a class="row-link" data-rove tabindex="0" href="/${id}"><b>${id}</b></a><button>Menu</button></li>`)
    .join("")}</ul>`;
  document.body.append(list);
  // The tests' DOM has no layout: all rows are visible.
  HTMLElement.prototype.getBoundingClientRect = () => ({ top: 0, bottom: 10 }) as DOMRect;
  HTMLElement.prototype.scrollIntoView = () => {};
  end = gestures(list, {
    selected: () => selected,
    byTaps: () => isTouch,
    toggle: (id) => (selected = toggled(selected, id)),
    range: (from, to, base) => (selected = withRange(base ?? selected, order, from, to)),
    all: () => (selected = new Set(order)),
    clear: () => (selected = new Set()),
  });
  list.addEventListener("keydown", rove);
  list.querySelectorAll("a").forEach((link) =>
    link.addEventListener("click", (event) => {
      event.preventDefault();
      opened(link.getAttribute("href"));
    }),
  );
});
afterEach(() => {
  end();
  list.remove();
  vi.useRealTimers();
});

const link = (id: string) => list.querySelector<HTMLElement>(`[data-thread=${id}] a`)!;
const now = () => [...selected].sort().join("");

function click(id: string, more: MouseEventInit = {}): void {
  link(id).querySelector("b")!.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ...more }));
}

function key(name: string, more: KeyboardEventInit = {}): boolean {
  return document.activeElement!.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true, ...more }));
}

function touch(type: string, id: string, at: { x?: number; y?: number } = {}): Event {
  const event = new MouseEvent(type, { bubbles: true, cancelable: true, clientX: at.x ?? 0, clientY: at.y ?? 0 });
  Object.assign(event, { pointerType: "touch", isPrimary: true, pointerId: 1 });
  link(id).dispatchEvent(event);
  return event;
}

test("Ctrl or Cmd and a click select a thread, Shift those up to it; a click alone opens", () => {
  click("b", { ctrlKey: true });
  click("d", { metaKey: true });
  expect(now()).toBe("bd");
  click("b", { ctrlKey: true });
  expect(now()).toBe("d");
  click("c", { shiftKey: true });
  expect(now()).toBe("bcd");
  expect(opened).not.toHaveBeenCalled();
  click("a");
  expect(opened.mock.calls).toEqual([["/a"]]);
  expect(now()).toBe("bcd");
});

test("without a click before, Shift selects from the open thread", () => {
  click("c", { shiftKey: true });
  expect(now()).toBe("abc");
  expect(document.activeElement).toBe(link("c"));
});

test("a click beside the link is not for the selection", () => {
  list.querySelector("button")!.dispatchEvent(new MouseEvent("click", { bubbles: true, ctrlKey: true }));
  expect(now()).toBe("");
});

test("x selects the row with the focus, Ctrl+A all, Escape none", () => {
  link("b").focus();
  expect(key("x")).toBe(false);
  expect(now()).toBe("b");
  key("x", { repeat: true });
  expect(now()).toBe("b");
  key("x");
  expect(now()).toBe("");
  // Then Escape is for others.
  expect(key("Escape")).toBe(true);
  key("a", { ctrlKey: true });
  expect(now()).toBe("abcd");
  expect(key("Escape")).toBe(false);
  expect(now()).toBe("");
  expect(key("x", { altKey: true })).toBe(true);
  expect(key("x", { ctrlKey: true })).toBe(true);
  expect(now()).toBe("");
});

test("x on a button of the row is not for the selection", () => {
  list.querySelector<HTMLElement>("[data-thread=b] button")!.focus();
  key("x");
  expect(now()).toBe("");
});

test("Shift with the arrow keys selects from row to row, and the way back makes the range smaller", () => {
  link("d").focus();
  key("x");
  link("b").focus();
  key("ArrowDown", { shiftKey: true });
  expect(now()).toBe("bcd");
  expect(document.activeElement).toBe(link("c"));
  key("ArrowUp", { shiftKey: true });
  expect(now()).toBe("bd");
  key("ArrowUp", { shiftKey: true });
  expect(now()).toBe("abd");
  // An arrow alone only moves; Shift then begins anew there.
  key("ArrowDown");
  expect(now()).toBe("abd");
  key("ArrowDown", { shiftKey: true });
  expect(now()).toBe("abcd");
});

test("a long press selects, and then a tap does; neither opens the thread", () => {
  isTouch = true;
  touch("pointerdown", "b");
  vi.advanceTimersByTime(600);
  expect(now()).toBe("b");
  touch("pointerup", "b");
  click("b");
  expect(now()).toBe("b");
  click("c");
  expect(now()).toBe("bc");
  click("b");
  click("c");
  expect(now()).toBe("");
  expect(opened).not.toHaveBeenCalled();
  click("c");
  expect(opened).toHaveBeenCalledOnce();
});

test("a scroll, a swipe or a short press is not long", () => {
  for (const to of [{ y: 20 }, { x: 20 }]) {
    touch("pointerdown", "b");
    touch("pointermove", "b", to);
    vi.advanceTimersByTime(600);
    touch("pointerup", "b");
  }
  touch("pointerdown", "b");
  vi.advanceTimersByTime(300);
  touch("pointerup", "b");
  vi.advanceTimersByTime(600);
  expect(now()).toBe("");
  click("b");
  expect(opened).toHaveBeenCalledOnce();
});

test("what the finger does after a long press is no swipe, which would answer", () => {
  const moved = vi.fn();
  link("b").addEventListener("pointermove", moved);
  link("b").addEventListener("pointerup", moved);
  touch("pointerdown", "b");
  vi.advanceTimersByTime(600);
  touch("pointermove", "b", { x: 200 });
  touch("pointerup", "b", { x: 200 });
  expect(moved).not.toHaveBeenCalled();
  expect(now()).toBe("b");
});

test("the browser's menu of a long touch selects, once; that of a mouse is left alone", () => {
  touch("pointerdown", "b");
  expect(touch("contextmenu", "b").defaultPrevented).toBe(true);
  vi.advanceTimersByTime(600);
  expect(now()).toBe("b");
  touch("pointerup", "b");
  const mouse = new MouseEvent("pointerdown", { bubbles: true });
  Object.assign(mouse, { pointerType: "mouse", isPrimary: true, pointerId: 2 });
  link("c").dispatchEvent(mouse);
  const menu = new MouseEvent("contextmenu", { bubbles: true, cancelable: true });
  link("c").dispatchEvent(menu);
  expect(menu.defaultPrevented).toBe(false);
  expect(now()).toBe("b");
});

test("without it, the list is as before", () => {
  end();
  click("b", { ctrlKey: true });
  expect(now()).toBe("");
});
