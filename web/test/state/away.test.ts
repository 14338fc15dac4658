import type { Item, Resolved, Turn } from "@acpd/client";
import { expect, test } from "vitest";

import { type AwayRow, changedBetween, countsOf, isOutdated, LEFT_MS, unseenWords, withAwayRow } from "../../src/state/away.ts";
import type { ShownRow } from "../../src/state/outline.ts";
import type { Listed } from "../../src/state/threads.ts";

const message = (itemId: string): Item => ({ itemId, type: "agentMessage", text: itemId, outcome: "completed" });
const command = (itemId: string): Item => ({ itemId, type: "terminalCommand", terminalId: itemId, command: "make", outcome: "completed" });
const change = (itemId: string): Item => ({ itemId, type: "fileChange", path: `/w/${itemId}`, diff: "@@ -1 +1,2 @@\n-a\n+b\n+c\n", outcome: "completed" });
const turn = (id: string, startedAt: number, completedAt: number | undefined, items: Item[], status: Turn["status"] = "completed"): Turn => ({
  id, startedAt, completedAt, items, status,
});
const answer = (ts: number, by: Resolved["by"], outcome: Resolved["outcome"] = "accepted"): Resolved => ({
  requestId: `q${ts}`, seq: ts, threadId: "t", ts, by, outcome, optionId: "o",
});
const ann = { kind: "client", principal: "ann", client: "phone" } as const;
const rule = { kind: "policy", rule: "tests" } as const;

test("an absence has what changed in it and is unread, and nothing that happened before the user's eyes", () => {
  const listed = (id: string, updatedAt: number, live: Listed["live"] = "idle", unread = true): Listed => ({
    id, updatedAt, live, unread, agentType: "fake", archived: false, createdAt: 1, cwd: "/w", status: live === "waiting" ? "waiting" : "idle", turnCount: 1,
  });
  const threads = [
    listed("before", 100),
    listed("read", 150, "idle", false),
    listed("meanwhile", 150),
    listed("failed", 200, "failed"),
    listed("after", 201),
    listed("waited", 90, "waiting", false),
    listed("waits now", 90, "waiting"),
  ];
  const found = changedBetween(threads, { since: 100, until: 200 }, new Set(["waited", "answered"]));
  expect(found.map(({ id }) => id)).toEqual(["waited", "meanwhile", "failed"]);
});

test("turns, commands, files and decisions since the user left are counted, by whom as well", () => {
  const turns = [
    turn("1", 0, 50, [command("old")]),
    // The user left in the middle of this one.
    { ...turn("2", 60, 150, [command("seen"), command("c1"), change("f1")]), permitted: 9 },
    turn("3", 160, 170, [command("c2"), change("f2"), change("f1")], "failed"),
    { ...turn("4", 180, undefined, [command("c3")], "running"), permitted: 2 },
  ];
  const answers = [answer(90, ann), answer(110, ann), answer(120, ann), answer(130, rule), answer(140, rule, "declined")];
  expect(unseenWords(turns, answers, { at: 100, itemId: "seen", permitted: 4 }, 1)).toEqual([
    "1 turn done",
    "1 failed",
    "ran 3 commands",
    "2 files +6 −3",
    "allowed 2 by ann (phone)",
    "8 allowed by rules",
    "rejected 1 by rule tests",
    "1 waits for you",
  ]);
});

test("nothing is said of what did not happen, and an answered form allows nothing", () => {
  expect(unseenWords([turn("1", 0, 50, [command("old")])], [{ ...answer(120, ann), optionId: undefined, answers: {} }], { at: 100 })).toEqual([]);
});

test("the last answer about a command decides whether it ran", () => {
  const call = { itemId: "c", type: "toolCall", toolCallId: "c", title: "make", kind: "execute", status: "failed", outcome: "failed" } as Item;
  const words = (...outcomes: Resolved["outcome"][]) =>
    unseenWords([turn("1", 160, 170, [call])], outcomes.map((outcome, at) => ({ ...answer(at, ann, outcome), itemId: "c" })), { at: 100 });
  expect(words("declined", "accepted")).toContain("ran 1 command");
  expect(words("accepted", "declined")).not.toContain("ran 1 command");
});

test("names of others are shown with their invisible characters", () => {
  const by = { kind: "client", principal: "a\u202Eb", client: "x" } as const;
  expect(unseenWords([], [answer(120, by)], { at: 100 })).toEqual(["allowed 1 by a⟨U+202E⟩b (x)"]);
});

const itemRow = (item: Item, turnId: string): ShownRow => ({ kind: "item", key: item.itemId, item, turnId, children: [], live: false });
const endRow = (key: string, completedAt: number): ShownRow => ({
  kind: "turnEnd", key, turn: { key, id: key, status: "completed", completedAt, items: [] },
});
const line: AwayRow = { kind: "away", key: "away", at: 100, words: [] };
const keys = (rows: readonly ShownRow[]) => rows.map(({ key }) => key);

test("the line is before the first row that the user has not seen", () => {
  const turns = [turn("1", 10, 90, []), turn("2", 110, 120, [])];
  const rows = [itemRow(message("a"), "1"), endRow("1", 90), itemRow(message("b"), "2"), endRow("2", 120)];
  expect(keys(withAwayRow(rows, { at: 100, itemId: "a" }, line, turns))).toEqual(["a", "1", "away", "b", "2"]);
  // The last seen item is in a turn that is not loaded, or was dropped.
  expect(keys(withAwayRow(rows, { at: 100, itemId: "gone" }, line, turns))).toEqual(["a", "1", "away", "b", "2"]);
  // The turn went on after the user had left.
  expect(keys(withAwayRow([itemRow(message("a"), "1"), endRow("1", 101)], { at: 100, itemId: "a" }, line, turns))).toEqual(["a", "away", "1"]);
});

test("there is no line at the end, where nothing follows", () => {
  const rows = [itemRow(message("a"), "1"), endRow("1", 90)];
  expect(withAwayRow(rows, { at: 100, itemId: "a" }, line, [turn("1", 10, 90, [])])).toBe(rows);
});

test("folded work that the user has seen in part is new", () => {
  const items = [command("a"), command("b")];
  const work: ShownRow = { kind: "work", key: "work", items, open: false, live: false };
  expect(keys(withAwayRow([work, itemRow(message("c"), "1")], { at: 100, itemId: "a" }, line, []))).toEqual(["away", "work", "c"]);
  expect(keys(withAwayRow([work, itemRow(message("c"), "1")], { at: 100, itemId: "b" }, line, []))).toEqual(["work", "away", "c"]);
});

test("a thread that has changed while the user was away for long is loaded anew", () => {
  const left = { status: "idle", updatedAt: 5 } as const;
  const [soon, late] = [LEFT_MS - 1, LEFT_MS];
  expect(isOutdated(0, soon, left, undefined)).toBe(false);
  expect(isOutdated(0, soon, left, { status: "running", updatedAt: 9 })).toBe(false);
  expect(isOutdated(0, late, left, left)).toBe(false);
  expect(isOutdated(0, late, left, { ...left, updatedAt: 9 })).toBe(true);
  expect(isOutdated(0, late, left, { ...left, status: "waiting" })).toBe(true);
  expect(isOutdated(0, late, { ...left, status: "running" }, { ...left, status: "running" })).toBe(true);
  // An archived thread is in no list.
  expect(isOutdated(0, late, left, undefined)).toBe(true);
});

test("a thread whose turn was stopped is not counted as done", () => {
  const listed = (more: Partial<Listed>) => ({ live: "idle", lastTurnStatus: "completed", ...more }) as Listed;
  expect(countsOf([])).toEqual([]);
  expect(
    countsOf([
      listed({}),
      listed({ lastTurnStatus: null }),
      listed({ lastTurnStatus: "interrupted" }),
      listed({ lastTurnStatus: "refused" }),
      listed({ lastTurnStatus: "limited" }),
      listed({ lastTurnStatus: "interrupted", lastTurnCutOff: true }),
      listed({ live: "failed", lastTurnStatus: "failed" }),
      listed({ live: "waiting", lastTurnStatus: "interrupted" }),
    ]),
  ).toEqual(["1 waits for you", "1 failed", "1 interrupted", "3 stopped", "2 done"]);
});
