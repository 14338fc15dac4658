import { expect, test } from "vitest";

import { hasRightToLeft } from "./direction.ts";

test.each(["שלום", "say مرحبا", "ܫܠܡܐ", "ߒߞߏ", "𐤔𐤋𐤌", "𞤀𞤣𞤤𞤢𞤥", "ﷺ", "a\u200Fb", "a\u2067b\u2069"])("right to left: %s", (text) => {
  expect(hasRightToLeft(text)).toBe(true);
});

test.each(["", "hello", "naïve Ωμέγα Привет", "日本語 한국어 ไทย हिन्दी", "🙂 → ½", "\u{20000}"])("left to right: %s", (text) => {
  expect(hasRightToLeft(text)).toBe(false);
});
