/** How often a state is published that changes all the time. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Pace } from "../../src/connection/pace.ts";

/** When a state was published, in milliseconds since the start. */
let published: number[];
/** What drawing takes, in milliseconds. */
let cost: number;
let spent: number;
let pace: Pace;

const now = () => Date.now() + spent;

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  vi.spyOn(performance, "now").mockImplementation(now);
  [published, cost, spent] = [[], 0, 0];
  pace = new Pace(() => {
    published.push(now());
    spent += cost;
  });
});

afterEach(() => {
  pace.stop();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const isHidden = (hidden: boolean) => vi.spyOn(document, "hidden", "get").mockReturnValue(hidden);

/** Changes the state each millisecond. */
function change(ms: number): void {
  for (let n = 0; n < ms; n++) {
    pace.soon();
    vi.advanceTimersByTime(1);
  }
}

test("a single change is published at once, and many twenty times a second", () => {
  vi.advanceTimersByTime(1_000);
  change(1);
  expect(published).toEqual([1_000]);
  change(1_000);
  expect(published.length).toBeGreaterThanOrEqual(19);
  expect(published.length).toBeLessThanOrEqual(22);
  published = [];
  vi.advanceTimersByTime(1_000);
  expect(published.length).toBeLessThanOrEqual(1);
});

test("a state that takes long to draw leaves at least two thirds of the time to other work", () => {
  cost = 400;
  change(8_000);
  expect(published.length).toBeGreaterThan(5);
  for (const [n, at] of published.slice(1).entries()) {
    expect(at - published[n]!).toBeGreaterThanOrEqual(3 * cost);
  }
  // It becomes fast again with the text.
  cost = 0;
  change(1_000);
  published = [];
  change(1_000);
  expect(published.length).toBeGreaterThanOrEqual(19);
});

test("the last change is published however long it waited", () => {
  cost = 400;
  pace.soon();
  vi.advanceTimersByTime(1);
  pace.soon();
  vi.advanceTimersByTime(10_000);
  expect(published).toHaveLength(2);
});

test("a hidden page is current, and draws nothing for which it would wait", () => {
  isHidden(true);
  change(2_001);
  expect(published.length).toBeGreaterThanOrEqual(3);
  expect(published.length).toBeLessThanOrEqual(5);
});

test("a page that is hidden while it draws goes on", () => {
  vi.spyOn(globalThis, "requestAnimationFrame").mockReturnValue(0);
  change(10);
  expect(published).toHaveLength(1);
  isHidden(true);
  change(2_000);
  expect(published.length).toBeGreaterThanOrEqual(3);
});

test("nothing is published after the end", () => {
  pace.soon();
  pace.stop();
  vi.advanceTimersByTime(1_000);
  pace.now();
  pace.soon();
  pace.stop();
  vi.advanceTimersByTime(1_000);
  expect(published).toHaveLength(1);
});
