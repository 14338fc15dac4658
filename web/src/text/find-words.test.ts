import { expect, test } from "vitest";

import { findWords, rangesOf, wordsOf } from "./find-words.ts";

test("a search has words and quoted phrases, without case and accents", () => {
  expect(wordsOf('Grüne  "Two Words" REIHER')).toEqual(["grune", "two words", "reiher"]);
  expect(wordsOf('open "quote')).toEqual(["open", "quote"]);
  expect(wordsOf("  ")).toEqual([]);
});

test("words are found where words of the text begin, at their original positions", () => {
  const text = "Çağ: a heron, HERONRY, xheron. Grüß";
  const found = (...words: string[]) => findWords(text, words).map(([start, end]) => text.slice(start, end));
  expect(found("heron")).toEqual(["heron", "HERON"]);
  expect(found("cag", "gru")).toEqual(["Çağ", "Grü"]);
  expect(found("nothing")).toEqual([]);
});

test("each found word is a range of its element", () => {
  const element = document.createElement("div");
  element.innerHTML = "<p>a <b>heron</b></p><p>Heron two</p>";
  expect(rangesOf(element, "heron").map(String)).toEqual(["heron", "Heron"]);
});
