import { expect, test } from "vitest";

import { sizeOf } from "../../src/state/size.ts";

test("texts and objects count, numbers only as members", () => {
  expect(sizeOf(undefined, 1_000)).toBe(0);
  expect(sizeOf("four", 1_000)).toBe(40);
  expect(sizeOf({ a: 1, b: "four" }, 1_000)).toBe(32 + 16 + 40);
  expect(sizeOf([null, [], {}], 1_000)).toBe(32 + 24 + 32 + 32);
});

test("the count ends beyond the limit", () => {
  let read = 0;
  const parts = Array.from({ length: 10_000 }, () => ({
    get text() {
      read += 1;
      return "x".repeat(100);
    },
  }));
  expect(sizeOf(parts, 100_000)).toBeGreaterThan(100_000);
  expect(read).toBeLessThan(1_000);
});
