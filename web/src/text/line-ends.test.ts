import { expect, test } from "vitest";

import { diffOfTexts, parseUnified } from "./diff.ts";
import { lineEnds, shownLine } from "./line-ends.ts";

const between = (before: string | null, after: string) => lineEnds(diffOfTexts("a", before, after));

test.each<[string, string | null, string, readonly string[], boolean]>([
  ["to CRLF", "a\nb\n", "a\r\nb\r\n", ["Line ends changed from LF to CRLF"], true],
  ["to LF", "a\r\nb\r\n", "a\nb\n", ["Line ends changed from CRLF to LF"], true],
  ["of one line", "a\r\nb\r\nc\r\n", "a\r\nb\nc\r\n", ["Line ends changed from CRLF to mixed"], true],
  ["of mixed ones", "a\r\nb\n", "a\nb\n", ["Line ends changed from mixed to LF"], true],
  ["mixed before and after", "a\r\nb\nc\n", "a\r\nb\nd\n", [], true],
  ["CRLF before and after", "a\r\nb\r\n", "a\r\nc\r\n", [], false],
  ["CRLF, and a last line without an end", "a\r\nb", "a\r\nc", [], false],
  ["CRLF, and a last line that ends with a carriage return", "a\r\nb", "a\r\nb\r", [], true],
  ["a new file", null, "a\r\nb\r\n", [], false],
  ["a byte order mark", "a\n", "\uFEFFa\n", ["Byte order mark added"], false],
  ["no byte order mark", "\uFEFFa\nb\n", "a\nc\n", ["Byte order mark removed"], false],
  ["the same byte order mark", "\uFEFFa\n", "\uFEFFb\n", [], false],
  ["both", "\uFEFFa\n", "a\r\n", ["Line ends changed from LF to CRLF", "Byte order mark removed"], true],
])("line ends: %s", (_, before, after, notes, marked) => {
  expect(between(before, after)).toEqual({ notes, marked });
});

test("a unified diff says the same", () => {
  const [file] = parseUnified("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-one\n-two\n+one\r\n+two\r\n");
  expect(lineEnds(file!).notes).toEqual(["Line ends changed from LF to CRLF"]);
  expect([file!.added, file!.removed]).toEqual([2, 2]);
});

test("a carriage return inside of a line is seen", () => {
  const [file] = parseUnified("@@ -1 +1 @@ fn\ra\n-ls\r\n+rm -rf ~\rls\r\n");
  const [hunk] = file!.hunks;
  expect(shownLine(hunk!.heading)).toBe("fn␍a");
  expect(hunk!.lines.map(({ text, crlf }) => [shownLine(text), crlf])).toEqual([["ls", true], ["rm -rf ~␍ls", true]]);
});
