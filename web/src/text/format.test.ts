import { expect, test } from "vitest";

import { duration, withPeriod, firstWords } from "./format.ts";

test("the first words of a text are cut at a word, and an ellipsis says so", () => {
  expect(firstWords("Make it\n**warmer**, please")).toBe("Make it warmer, please");
  const cut = firstWords("several words ".repeat(20));
  expect(cut).toMatch(/^(several words )+several…$|words…$/);
  expect(cut.length).toBeLessThanOrEqual(81);
  expect(firstWords("x".repeat(100))).toBe(`${"x".repeat(80)}…`);
});

test.each([
  [0, "<0.1 s"],
  [450, "0.5 s"],
  [45_000, "45 s"],
  [93_000, "1 min 33 s"],
  [3_720_000, "1 h 2 min"],
])("%i milliseconds are %s", (milliseconds, said) => {
  expect(duration(milliseconds)).toBe(said);
});

test.each([
  ["the disk is full", "the disk is full."],
  ["The disk is full.", "The disk is full."],
  ["is it full?", "is it full?"],
  ["stop!", "stop!"],
])("a sentence ends with a mark: %s", (words, sentence) => {
  expect(withPeriod(words)).toBe(sentence);
});
