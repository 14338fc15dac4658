// @vitest-environment jsdom
import { expect, test } from "vitest";

import { highlightLines } from "../../../text/highlight.ts";
import { piecesOf } from "./diff-colours.ts";

test("code is highlighted line by line, also where a colour spans lines", async () => {
  const lines = await highlightLines('/* one\ntwo */ let x = "y";', "ts");
  expect(lines!.map((line) => line.map(({ text }) => text).join(""))).toEqual(["/* one", 'two */ let x = "y";']);
  expect(lines![1]![0]).toEqual({ text: "two */", class: "hljs-comment" });
});

test("a line is cut where its colour changes and around its changed part", () => {
  const line = { kind: "add", text: "let name = 1", crlf: false, changed: [2, 6] } as const;
  const tokens = [{ text: "let", class: "hljs-keyword" }, { text: " name = 1", class: "" }];
  expect(piecesOf(line, tokens)).toEqual([
    { text: "le", class: "hljs-keyword", changed: false },
    { text: "t", class: "hljs-keyword", changed: true },
    { text: " na", class: "", changed: true },
    { text: "me = 1", class: "", changed: false },
  ]);
});

test("colours never change the text of a line", () => {
  const line = { kind: "same", text: "as it is", crlf: false } as const;
  expect(piecesOf(line, [{ text: "another", class: "hljs-string" }])).toEqual([{ text: "as it is", class: "", changed: false }]);
});
