import { expect, test } from "vitest";

import { AnsiText, LINE_LENGTH, LINES_KEPT, plainText } from "./ansi.ts";

function read(...pieces: string[]): AnsiText {
  const text = new AnsiText();
  for (const piece of pieces) text.feed(piece);
  return text;
}

const segments = (...pieces: string[]) => read(...pieces).lines.map((line) => line.segments.map(({ text, style }) => [text, style]));

test("colours and type", () => {
  expect(segments("a\u001B[1;31mb\u001B[22;39mc\u001B[0m")).toEqual([[["a", {}], ["b", { bold: true, fg: 1 }], ["c", {}]]]);
});

test("bright colours, colours of 256, and colours of their own", () => {
  expect(segments("\u001B[91ma\u001B[38;5;208mb\u001B[38;2;1;2;3;44mc\u001B[48:5:250md")).toEqual([
    [
      ["a", { fg: 9 }],
      ["b", { fg: "rgb(255 135 0)" }],
      ["c", { fg: "rgb(1 2 3)", bg: 4 }],
      ["d", { fg: "rgb(1 2 3)", bg: "rgb(188 188 188)" }],
    ],
  ]);
});

test("a style that is taken up again is the same one: neighbours become one segment", () => {
  expect(segments("\u001B[32ma\u001B[0m\u001B[32mb")[0]).toHaveLength(1);
});

test("however the output is cut into pieces, it says the same", () => {
  const output = "\u001B[1;38;5;208mone\u001B[0m\r\ntwo\u001B]8;;https://x\u001B\\link\u001B]8;;\u0007\r\n50%\r100%\u001B[K\r\n\u001B(Bend";
  const whole = segments(output);
  for (let cut = 0; cut <= output.length; cut += 1) {
    expect(segments(output.slice(0, cut), output.slice(cut))).toEqual(whole);
  }
  expect(segments(...output)).toEqual(whole);
});

test("progress is shown as it stands in the end", () => {
  expect(read("10%\r50%\r100%\n").plain()).toBe("100%\n");
  expect(read("long line\r\u001B[Kok").plain()).toBe("ok");
  expect(read("a\nb\nc\u001B[2A\r\u001B[2KX").plain()).toBe("X\nb\nc");
  expect(read("abc\b\bX").plain()).toBe("aXc");
  expect(read("a\n\u001B[1A\u001B[0J").plain()).toBe("");
});

test("a screen that is cleared keeps what it said", () => {
  expect(read("first\n\u001B[2J\u001B[Hsecond").plain()).toBe("first\nsecond");
});

test.each([
  ["title", "\u001B]0;evil title\u0007after"],
  ["title, ended the other way", "\u001B]2;evil\u001B\\after"],
  ["clipboard", "\u001B]52;c;ZXZpbA==\u0007after"],
  ["hyperlink", "\u001B]8;id=1;https://evil.example\u0007after\u001B]8;;\u0007"],
  ["device control", "\u001BP+q544e\u001B\\after"],
  ["application command", "\u001B_Gf=100;AAAA\u001B\\after"],
  ["report of the cursor", "\u001B[6nafter"],
  ["report of the terminal", "\u001B[c\u001B[>cafter"],
  ["modes, mouse, alternate screen", "\u001B[?1049h\u001B[?1000h\u001B[?25lafter"],
  ["window moves", "\u001B[8;24;80tafter"],
  ["reset", "\u001Bcafter"],
  ["bell and other controls", "\u0007\u0000\u000Eafter\u007F"],
])("%s does nothing and shows nothing", (_, output) => {
  expect(read(output).plain()).toBe("after");
});

test("a string that never ends hides no more than its line", () => {
  expect(read("\u001B]0;never ends", " still\nshown").plain()).toBe("\nshown");
});

test("an endless sequence is no sequence", () => {
  expect(read(`\u001B[${"1;".repeat(100)}`, "shown").plain()).toContain("shown");
});

test("the oldest lines go, and it is known how many", () => {
  const text = read("x\n".repeat(LINES_KEPT * 2));
  expect(text.lines.length).toBeLessThanOrEqual(LINES_KEPT * 1.1 + 1);
  expect(text.dropped + text.lines.length).toBe(LINES_KEPT * 2 + 1);
});

test("a line of a megabyte is cut, and it is known that it was", () => {
  const [line] = read("x".repeat(1_000_000)).lines;
  expect(line?.segments[0]?.text).toHaveLength(LINE_LENGTH);
  expect(line?.cut).toBe(true);
});

test("a line that did not change is the same object", () => {
  const text = read("one\ntwo");
  const [one] = text.lines;
  text.feed(" more\nthree");
  expect(text.lines[0]).toBe(one);
});

test("plain text has all lines, without escapes and overwritten parts", () => {
  const lines = Array.from({ length: LINES_KEPT * 1.2 }, (_, at) => `\u001B[32m${at}\u001B[0m`).join("\r\n");
  const plain = plainText(`10 %\r20 %\r${lines}\r\n`);
  expect(plain.split("\n")).toHaveLength(LINES_KEPT * 1.2 + 1);
  expect(plain).not.toContain("\u001B");
  expect(plain.startsWith("00 %\n1\n")).toBe(true);
});
