import { expect, test } from "vitest";

import { MOST, nextFocus, stillShown, toggled, withRange } from "../../src/state/selection.ts";

const order = ["a", "b", "c", "d", "e"];
const of = (...ids: string[]) => new Set(ids);

test("a thread is added and removed, up to the maximum", () => {
  expect([...toggled(of(), "a")]).toEqual(["a"]);
  expect([...toggled(of("a", "b"), "a")]).toEqual(["b"]);
  const full = new Set(Array.from({ length: MOST }, (_, n) => `${n}`));
  expect(toggled(full, "one more").size).toBe(MOST);
  expect(toggled(full, "0").size).toBe(MOST - 1);
});

test("a range has both ends, in both directions, and what was selected before", () => {
  expect([...withRange(of(), order, "b", "d")]).toEqual(["b", "c", "d"]);
  expect([...withRange(of("a"), order, "d", "c")]).toEqual(["a", "c", "d"]);
  expect([...withRange(of(), order, "b", "b")]).toEqual(["b"]);
  // The row at which it began has left the list; the other one is not in it.
  expect([...withRange(of(), order, "gone", "c")]).toEqual(["c"]);
  expect([...withRange(of("a"), order, "a", "gone")]).toEqual(["a"]);
  expect([...withRange(of(), [], "", "")]).toEqual([]);
  const many = Array.from({ length: 5_000 }, (_, n) => `${n}`);
  expect(withRange(of(), many, "0", "4999").size).toBe(MOST);
});

test("what the list no longer shows is not selected", () => {
  const selected = of("a", "e");
  expect(stillShown(selected, order)).toBe(selected);
  expect([...stillShown(selected, ["a", "b"])]).toEqual(["a"]);
  expect([...stillShown(selected, [])]).toEqual([]);
});

test("the focus goes to the row after those that leave, or to the last one before", () => {
  expect(nextFocus(order, of("b", "c"))).toBe("d");
  expect(nextFocus(order, of("a", "c"))).toBe("b");
  expect(nextFocus(order, of("d", "e"))).toBe("c");
  expect(nextFocus(order, of(...order))).toBeUndefined();
  expect(nextFocus([], of())).toBeUndefined();
});
