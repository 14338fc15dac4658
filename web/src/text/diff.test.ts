import { expect, test } from "vitest";

import { diffOfTexts, parseUnified, sideBySide } from "./diff.ts";

const GIT = `diff --git a/src/a.rs b/src/a.rs
index 1..2 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -10,4 +10,5 @@ fn main() {
 one
-two old
+two new
+more
 three
 
diff --git a/old.txt b/new.txt
similarity index 90%
rename from old.txt
rename to new.txt
diff --git a/made.txt b/made.txt
new file mode 100644
--- /dev/null
+++ b/made.txt
@@ -0,0 +1 @@
+hello
\\ No newline at end of file
diff --git a/gone.bin b/gone.bin
deleted file mode 100644
Binary files a/gone.bin and /dev/null differ
`;

test("a diff of several files", () => {
  expect(parseUnified(GIT).map(({ path, oldPath, state, added, removed, notes }) => [path, oldPath, state, added, removed, notes])).toEqual([
    ["src/a.rs", undefined, "changed", 2, 1, []],
    ["new.txt", "old.txt", "moved", 0, 0, []],
    ["made.txt", undefined, "new", 1, 0, []],
    ["gone.bin", undefined, "deleted", 0, 0, ["Binary files a/gone.bin and /dev/null differ"]],
  ]);
});

test("lines have their numbers, and a hunk the function it is in", () => {
  const [hunk] = parseUnified(GIT)[0]!.hunks;
  expect(hunk?.heading).toBe("fn main() {");
  expect(hunk?.lines.map(({ kind, before, after }) => [kind, before, after])).toEqual([
    ["same", 10, 10], ["del", 11, undefined], ["add", undefined, 11], ["add", undefined, 12], ["same", 12, 13], ["same", 13, 14],
  ]);
});

test("what changed inside of a line is marked", () => {
  const lines = parseUnified(GIT)[0]!.hunks[0]!.lines;
  expect(lines[1]!.text.slice(...lines[1]!.changed!)).toBe("old");
  expect(lines[2]!.text.slice(...lines[2]!.changed!)).toBe("new");
});

test("a removed line that looks like a head is a line", () => {
  const [file] = parseUnified("--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,1 @@\n--- drop it\n keep\n");
  expect(file?.hunks[0]?.lines.map((line) => line.text)).toEqual(["-- drop it", "keep"]);
});

test("what is no diff is kept as text", () => {
  expect(parseUnified("just words\nand more")[0]?.notes).toEqual(["just words", "and more"]);
});

test("side by side, changed lines stand opposite each other", () => {
  const pairs = sideBySide(parseUnified(GIT)[0]!.hunks[0]!);
  expect(pairs.map(({ left, right }) => [left?.text, right?.text])).toEqual([
    ["one", "one"], ["two old", "two new"], [undefined, "more"], ["three", "three"], ["", ""],
  ]);
});

test("two texts are compared", () => {
  const file = diffOfTexts("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n");
  expect([file.added, file.removed, file.hunks[0]?.lines.length]).toEqual([1, 1, 8]);
});

test("a text without one before it is new", () => {
  expect(diffOfTexts("a", null, "x\ny\n")).toMatchObject({ state: "new", added: 2, removed: 0 });
  expect(diffOfTexts("a", "", "x\n").state).toBe("changed");
});

test("texts that have too little in common are replaced as a whole", () => {
  const lines = (word: string) => Array.from({ length: 6_000 }, (_, at) => `${word} ${at}\n`).join("");
  const file = diffOfTexts("a", lines("before").trimEnd(), lines("after"));
  expect([file.added, file.removed]).toEqual([6_000, 6_000]);
  expect(file.hunks[0]!.lines.findIndex(({ kind }) => kind === "note")).toBe(6_000);
});

test("a last line without an end is marked, on its side", () => {
  const [hunk] = diffOfTexts("a", "one\ntwo\n", "one\ntwo").hunks;
  expect(sideBySide(hunk!).map(({ left, right }) => [left?.text, right?.text])).toEqual([
    ["one", "one"], ["two", "two"], [undefined, "No newline at end of file"],
  ]);
});
