import { expect, test } from "vitest";

import characters from "../../../crates/model/fixtures/unseen.json?raw";
import words from "../../../crates/model/fixtures/words.json?raw";
import { visible, visibleLine, visibleName, visibleOrder, visibleWords } from "./bidi-guard.ts";

test("what turns text around in a file's name is written out", () => {
  expect(visible("invoice\u202Efdp.exe")).toBe("invoice⟨U+202E⟩fdp.exe");
});

test.each([
  ["zero-width space", "a\u200Bb", "a⟨U+200B⟩b"],
  ["isolate", "a\u2066b", "a⟨U+2066⟩b"],
  ["byte order mark", "\uFEFFa", "⟨U+FEFF⟩a"],
  ["Hangul filler", "a\u3164b", "a⟨U+3164⟩b"],
  ["tag", "a\u{E0041}b", "a⟨U+E0041⟩b"],
  ["escape", "a\u001B[0mb", "a⟨U+001B⟩[0mb"],
  ["variation selector", "a\uFE00b\uFE0F", "a⟨U+FE00⟩b⟨U+FE0F⟩"],
  ["invisible sign of music", "a\u{1D173}b", "a⟨U+1D173⟩b"],
  ["joiner of hieroglyphs", "a\u{13430}b", "a⟨U+13430⟩b"],
  ["empty Braille pattern", "a\u2800b", "a⟨U+2800⟩b"],
  ["no-break space", "rm a\u00A0b", "rm a⟨U+00A0⟩b"],
  ["ideographic space", "a\u3000b", "a⟨U+3000⟩b"],
  ["carriage return", "rm -rf /\rls", "rm -rf /⟨U+000D⟩ls"],
])("%s", (_, given, shown) => {
  expect(visible(given)).toBe(shown);
});

test("letters of any script, emoji and newlines stay", () => {
  const text = "Привет, 世界, مرحبا 👍🏽\nzweite Zeile";
  expect(visible(text)).toBe(text);
});

test("on one line, newlines are written too", () => {
  expect(visibleLine("a\nb\tc")).toBe("a⏎b⇥c");
});

test("in names, joiners that are seen stay", () => {
  for (const seen of ["👩‍💻 work", "👨‍👩‍👧", "🏳️‍🌈", "🤷🏽‍♀️", "می‌خواهم", "⚠\uFE0F 1\uFE0F\u20E3", "Voilà\u00A0: «\u202Fx\u202F»", "完了\u3000です"]) {
    expect(visibleName(seen)).toBe(seen);
  }
  expect(visibleName("pa\u200Dy\u200Cpal \u200D👩\u200D \u202E\n")).toBe("pa⟨U+200D⟩y⟨U+200C⟩pal ⟨U+200D⟩👩⟨U+200D⟩ ⟨U+202E⟩⏎");
  expect(visibleName("a\u00A0\u00A0b \u2800\u00A0c\uFE0F\u3000")).toBe("a⟨U+00A0⟩⟨U+00A0⟩b ⟨U+2800⟩⟨U+00A0⟩c⟨U+FE0F⟩⟨U+3000⟩");
  expect(visibleWords("a\u00A0b\n\u200B")).toBe("a\u00A0b\n⟨U+200B⟩");
});

test("the daemon and this page write out the same blanks of words", () => {
  for (const [given, shown] of JSON.parse(words) as [string, string][]) {
    expect(visibleName(given).replace(/⟨U\+[0-9A-F]+⟩/g, "\uFFFD")).toBe(shown);
  }
});

test("in code only what changes the order of reading is written: emoji of several parts stay whole", () => {
  expect(visibleOrder("👩‍💻 if (admin\u202E) {")).toBe("👩‍💻 if (admin⟨U+202E⟩) {");
});

test("the daemon and this page write out the same characters", () => {
  const ranges = JSON.parse(characters) as Record<"controls" | "reorders" | "invisible" | "blanks", string[]>;
  const all = (names: readonly (keyof typeof ranges)[]) =>
    names.flatMap((name) => ranges[name]).flatMap((range) => {
      const [first = 0, last = first] = range.split("-").map((hex) => parseInt(hex, 16));
      return Array.from({ length: last - first + 1 }, (_, at) => first + at);
    });
  const written = (write: (text: string) => string) =>
    Array.from({ length: 0x110000 }, (_, point) => point).filter((point) => {
      const character = String.fromCodePoint(point);
      return write(character) !== character;
    });
  const sorted = (points: number[]) => points.sort((a, b) => a - b);
  expect(written(visibleLine)).toEqual(sorted(all(["controls", "reorders", "invisible", "blanks"])));
  expect(written(visibleOrder)).toEqual(sorted(all(["reorders"])));
});
