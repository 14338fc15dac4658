import { expect, test } from "vitest";

import { dateAndTime, dayAndClock, duration, withPeriod, firstWords, pathOfDiff, shortPaths, shownEffect, shownPath } from "./format.ts";

test("a time is short where it is near, and in full in titles", () => {
  const at = (...date: [number, number, number, number, number, number]) => new Date(...date).getTime();
  const now = at(2026, 10, 27, 17, 30, 0);
  expect(dayAndClock(at(2026, 10, 27, 0, 5, 0), now)).toBe("00:05");
  expect(dayAndClock(at(2026, 10, 26, 16, 59, 3), now)).toBe("26 Nov 16:59");
  expect(dayAndClock(at(2025, 10, 27, 16, 59, 3), now)).toBe("27 Nov 2025 16:59");
  expect(dateAndTime(at(2026, 10, 7, 16, 59, 3))).toBe("7 Nov 2026 16:59:03");
  for (const absurd of [Number.NaN, 9e15, -9e15, Number.POSITIVE_INFINITY]) {
    expect([dayAndClock(absurd, now), dateAndTime(absurd)]).toEqual(["", ""]);
  }
});

test.each([
  ["Edit /w/a.rs and `/w/b.rs`", "Edit a.rs and `b.rs`"],
  ["/mnt/w/a /w/w/b /w//w/c /www/d", "/mnt/w/a w/b /w/c /www/d"],
  ["Read /w", "Read /w"],
  ["", ""],
])("in words, paths below the directory are relative, and others whole: %j", (words, short) => {
  expect(shortPaths(words, "/w")).toBe(short);
  expect(shortPaths(words, "/w/")).toBe(short);
  expect(shortPaths(words, "")).toBe(words);
  expect(shortPaths(words, "/")).toBe(words);
});

test.each([
  ["/home/ann/repo/src/app.py", "src/app.py"],
  ["/home/ann/repo", "/home/ann/repo"],
  ["/home/ann/repo/", "/home/ann/repo/"],
  ["/home/ann/repository/x", "/home/ann/repository/x"],
  ["/mnt/home/ann/repo/x", "/mnt/home/ann/repo/x"],
  ["/etc/hosts", "/etc/hosts"],
  ["home/ann/repo/x", "home/ann/repo/x"],
  ["", ""],
  ["/home/ann/repo/a\u202Eb", "a⟨U+202E⟩b"],
  [`/home/ann/repo/${"deep/".repeat(2_000)}x`, `${"deep/".repeat(2_000)}x`],
])("a path is shown from the thread's directory on: %j", (path, shown) => {
  expect(shownPath(path, "/home/ann/repo")).toBe(shown);
  expect(shownPath(path, "/home/ann/repo/")).toBe(shown);
});

test("diffs omit the first slash of a path, which is known by the directory or by the files", () => {
  expect(pathOfDiff("home/ann/repo/src/app.py", "/home/ann/repo")).toBe("/home/ann/repo/src/app.py");
  expect(pathOfDiff("etc/hosts", "/home/ann/repo")).toBe("etc/hosts");
  expect(pathOfDiff("etc/hosts", "/home/ann/repo", ["/etc/hosts"])).toBe("/etc/hosts");
  expect(pathOfDiff("src/app.py", "/home/ann/repo", ["src/app.py"])).toBe("src/app.py");
  expect(pathOfDiff("x", "")).toBe("x");
});

test("an effect has the path of a file as it is elsewhere, and a command as it is", () => {
  expect(shownEffect("changing /home/ann/repo/src/app.py", "/home/ann/repo")).toBe("changing src/app.py");
  expect(shownEffect("changing /etc/hosts", "/home/ann/repo")).toBe("changing /etc/hosts");
  expect(shownEffect("the command `rm /home/ann/repo/x`", "/home/ann/repo")).toBe("the command `rm /home/ann/repo/x`");
  expect(shownEffect("changing /tmp/a /home/ann/repo/x", "/home/ann/repo")).toBe("changing /tmp/a /home/ann/repo/x");
});

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
  [99, "<0.1 s"],
  [100, "0.1 s"],
  [9_949, "9.9 s"],
  [9_950, "10 s"],
  [59_499, "59 s"],
  [59_500, "1 min 0 s"],
  [119_700, "2 min 0 s"],
  [3_599_499, "59 min 59 s"],
  [3_599_500, "1 h 0 min"],
  [7_199_000, "2 h 0 min"],
  [360_000_000, "100 h 0 min"],
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
