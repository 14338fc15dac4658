// The history of the browser is a small model here, whose traversals end when the test says so.

import { afterEach, beforeEach, expect, test, vi } from "vitest";

let entries: { state: unknown; url: string }[];
let at: number;
let traversal: (() => void) | undefined;
/** The listeners of the module that is under test. */
let popped: (() => void)[];

beforeEach(() => {
  vi.resetModules();
  vi.useFakeTimers();
  popped = [];
  traversal = undefined;
  start([{ state: null, url: "/before" }, { state: null, url: "/" }]);
  vi.spyOn(globalThis, "addEventListener").mockImplementation(((type: string, run: () => void) => {
    if (type === "popstate") popped.push(run);
  }) as typeof addEventListener);
  const href = () => new URL(entries[at]!.url, "http://page").href;
  vi.stubGlobal("location", { get href() { return href(); }, get pathname() { return new URL(href()).pathname; }, search: "", hash: "" });
  const set = (state: unknown, url: string) => ({ state, url: new URL(url, "http://page").pathname });
  vi.stubGlobal("history", {
    get state() { return entries[at]!.state; },
    pushState(state: unknown, _: string, url: string) {
      entries = [...entries.slice(0, at + 1), set(state, url)];
      at += 1;
    },
    replaceState(state: unknown, _: string, url: string) {
      entries[at] = set(state, url);
    },
    go(by: number) {
      traversal = () => move(by);
    },
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

function start(list: { state: unknown; url: string }[], where = list.length - 1): void {
  entries = list;
  at = where;
}

function move(by: number): void {
  if (entries[at + by] === undefined) return;
  at += by;
  popped.forEach((run) => run());
}

/** Lets timers run, and ends the traversal that they have begun. */
function rest(): void {
  vi.advanceTimersByTime(0);
  traversal?.();
  traversal = undefined;
}

const addresses = () => entries.map(({ url }) => url).join(" ");

/** Something that can be open, as a component shows it. */
function thing(addLayer: (close: () => void) => () => void) {
  const it = {
    isOpen: false,
    remove: () => {},
    open: () => {
      it.isOpen = true;
      it.remove = addLayer(() => (it.isOpen = false));
    },
    close: () => {
      it.isOpen = false;
      it.remove();
    },
  };
  return it;
}

async function page() {
  const back = await import("../../src/app/back.ts");
  const arrived = vi.fn();
  back.onArrival(arrived);
  return { ...back, arrived, drawer: thing(back.addLayer), dialog: thing(back.addLayer) };
}

test("Back closes what is open, the last one first, and then leaves", async () => {
  const { drawer, dialog, arrived } = await page();
  drawer.open();
  dialog.open();
  expect(addresses()).toBe("/before / / /");
  move(-1);
  expect([drawer.isOpen, dialog.isOpen]).toEqual([true, false]);
  dialog.remove();
  move(-1);
  expect([drawer.isOpen, at]).toEqual([false, 1]);
  drawer.remove();
  rest();
  move(-1);
  expect(at).toBe(0);
  expect(arrived).toHaveBeenCalled();
});

test("what closes another way leaves no entry for Back", async () => {
  const { drawer } = await page();
  for (let time = 0; time < 3; time += 1) {
    drawer.open();
    drawer.close();
    rest();
  }
  expect(at).toBe(1);
  move(-1);
  expect(at).toBe(0);
});

test("a view that is chosen in the drawer takes over its entry", async () => {
  const { drawer, moveTo } = await page();
  drawer.open();
  moveTo("/threads/a", false);
  drawer.close();
  rest();
  expect([addresses(), at]).toEqual(["/before / /threads/a", 2]);
});

test("a navigation while the history goes back waits for it", async () => {
  const { dialog, moveTo } = await page();
  dialog.open();
  dialog.close();
  vi.advanceTimersByTime(0);
  moveTo("/agents", false);
  expect(addresses()).toBe("/before / /");
  rest();
  expect([addresses(), at]).toEqual(["/before / /agents", 2]);
});

test("Back while the history goes back shows the view to which both lead", async () => {
  const { dialog, arrived } = await page();
  dialog.open();
  dialog.close();
  rest();
  // One step, to the view below the dialog, is no arrival.
  expect([at, arrived.mock.calls.length]).toEqual([1, 0]);
  dialog.open();
  dialog.close();
  vi.advanceTimersByTime(0);
  // The browser reports the page's step and the user's as one.
  move(-2);
  expect([at, location.pathname, arrived.mock.calls.length]).toEqual([0, "/before", 1]);
});

test("a dialog that a menu opens stays open when the menu closes, and Back closes it", async () => {
  const { drawer: menu, dialog } = await page();
  menu.open();
  dialog.open();
  menu.close();
  rest();
  expect([dialog.isOpen, at]).toEqual([true, 2]);
  move(-1);
  expect([dialog.isOpen, at]).toEqual([false, 1]);
});

const RELOADED = [{ state: null, url: "/before" }, { state: null, url: "/" }, { state: { layers: 1 }, url: "/" }];

test("after a reload with something open the page does not move, and Back leaves the view", async () => {
  start([...RELOADED]);
  const { arrived } = await page();
  rest();
  expect(at).toBe(2);
  move(-1);
  rest();
  expect([at, arrived.mock.calls.length]).toEqual([0, 1]);
});

test("after a reload with two things open Back leaves the view too", async () => {
  start([...RELOADED, { state: { layers: 2 }, url: "/" }]);
  await page();
  move(-1);
  rest();
  expect(at).toBe(0);
});

test("what opens first after the reload takes the entry over, and Forward to it is no trap", async () => {
  start([...RELOADED]);
  const { drawer } = await page();
  drawer.open();
  expect([at, entries.length]).toEqual([2, 3]);
  move(-1);
  drawer.remove();
  expect([drawer.isOpen, at]).toEqual([false, 1]);
  move(1);
  rest();
  expect([drawer.isOpen, at]).toEqual([false, 1]);
});

test("a view that is chosen after the reload takes the entry over", async () => {
  start([...RELOADED]);
  const { moveTo, arrived } = await page();
  moveTo("/agents", false);
  expect([addresses(), at]).toEqual(["/before / /agents", 2]);
  move(-1);
  rest();
  expect([at, arrived.mock.calls.length]).toEqual([1, 1]);
});

test("a history without the entry below is no trap either", async () => {
  start([{ state: null, url: "/" }]);
  const { drawer, moveTo } = await page();
  drawer.open();
  drawer.close();
  vi.advanceTimersByTime(0);
  traversal = undefined;
  moveTo("/agents", false);
  vi.advanceTimersByTime(1_000);
  expect(addresses()).toBe("/ / /agents");
});
