import { expect, test } from "vitest";

import { indexes } from "./use-row-window.ts";

test("only the rows of the window are rendered, and the one that has the focus", () => {
  expect(indexes(100, [10, 13], 11)).toEqual([10, 11, 12]);
  expect(indexes(100, [10, 13], 2)).toEqual([2, 10, 11, 12]);
  expect(indexes(100, [10, 13], 50)).toEqual([10, 11, 12, 50]);
  expect(indexes(12, [10, 13], -1)).toEqual([10, 11]);
  expect(indexes(5, [-20, 3], 4)).toEqual([0, 1, 2, 4]);
});

test("a list that is outside of the view renders nothing but the row with the focus", () => {
  expect(indexes(100, [-80, -20], -1)).toEqual([]);
  expect(indexes(100, [200, 240], 7)).toEqual([7]);
});
