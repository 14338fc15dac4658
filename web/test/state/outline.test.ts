/** The shown rows of a conversation: the work of a turn as one line, lookups as groups, the plan at the end. */

import type { Item } from "@acpd/client";
import { expect, test } from "vitest";

import { layOutline, type OutlineOptions, type ShownRow } from "../../src/state/outline.ts";
import { changesOf, commandLine, commandOf, tallyOf, titleOf, wordsOf } from "../../src/state/tool-calls.ts";
import type { FoldedTurn, Row } from "../../src/state/thread.ts";

const item = (itemId: string, rest: object): Item => ({ itemId, outcome: "completed", ...rest }) as unknown as Item;
const user = (id: string) => item(id, { type: "userMessage", text: id });
const said = (id: string) => item(id, { type: "agentMessage", text: id });
const thought = (id: string) => item(id, { type: "agentThought", text: id });
const call = (id: string, kind: string, more: object = {}) => item(id, { type: "toolCall", kind, status: "completed", ...more });

const rowOf = (one: Item, turnId = "1", live = false): Row => ({ kind: "item", key: one.itemId, turnId, item: one, children: [], live });
const turnOf = (more: object = {}) => ({ key: "1", id: "1", status: "completed", items: [], startedAt: 1_000, completedAt: 46_000, ...more }) as FoldedTurn;
const ended = (items: Item[], more: object = {}): Row[] => [
  ...items.map((one) => rowOf(one)),
  { kind: "turnEnd", key: "end-1", turn: turnOf(more) },
];
const running = (items: Item[], live: string[] = []): Row[] => [
  ...items.map((one) => rowOf(one, "1", live.includes(one.itemId))),
  { kind: "working", key: "end-1", turn: turnOf({ status: "running", completedAt: undefined }) },
];
const options = (more: Partial<OutlineOptions> = {}): OutlineOptions => ({
  chosen: () => undefined,
  usual: (_, unfinished) => unfinished,
  ...more,
});
const keys = (rows: readonly ShownRow[]) => rows.map(({ key }) => key);
const shown = (rows: readonly Row[], more: Partial<OutlineOptions> = {}) => keys(layOutline()(rows, options(more)));

const WORK = [user("u"), thought("t"), said("first"), call("r1", "read"), call("r2", "read"), call("e", "edit"), said("answer")];

test("the work of an ended turn is one row above the answer", () => {
  expect(shown(ended(WORK))).toEqual(["u", "work-1", "answer", "end-1"]);
});

test("the end of a turn says how long it took only if its work does not", () => {
  const end = (rows: readonly Row[], more: Partial<OutlineOptions> = {}) => layOutline()(rows, options(more)).at(-1);
  expect(end(ended(WORK))).toHaveProperty("timed", true);
  expect(end(ended([user("u"), said("answer")]))).not.toHaveProperty("timed");
  expect(end(ended(WORK), { partial: true }), "without a summary of the work").not.toHaveProperty("timed");
});

test("it opens to its rows, and a group of lookups to its own", () => {
  const chosen = (...open: string[]) => ({ chosen: (key: string) => (open.includes(key) ? true : undefined) });
  expect(shown(ended(WORK), chosen("work-1"))).toEqual(["u", "work-1", "t", "first", "group-r1", "e", "answer", "end-1"]);
  expect(shown(ended(WORK), chosen("work-1", "group-r1"))).toContain("r2");
});

test("while a turn runs its work is open, and if it is closed, what runs and what was said last is shown", () => {
  const rows = running(WORK.slice(0, 6), ["e"]);
  expect(shown(rows)).toEqual(["u", "work-1", "t", "first", "group-r1", "e", "end-1"]);
  expect(shown(rows, { chosen: (key) => (key === "work-1" ? false : undefined) })).toEqual([
    "u", "work-1", "first", "e", "end-1",
  ]);
});

test("one line of work needs no summary", () => {
  expect(shown(ended([user("u"), call("e", "edit"), said("answer")]))).toEqual(["u", "e", "answer", "end-1"]);
  expect(shown(ended([user("u"), said("answer")]))).toEqual(["u", "answer", "end-1"]);
  // Two reads are one line.
  expect(shown(ended([user("u"), call("a", "read"), call("b", "search"), said("answer")]))).toEqual(["u", "group-a", "answer", "end-1"]);
});

test("what the user said into the turn is shown, with the work before and after", () => {
  const rows = ended([user("u"), call("e1", "edit"), call("e2", "edit"), user("u2"), call("e3", "edit"), call("e4", "edit"), said("answer")]);
  expect(shown(rows)).toEqual(["u", "work-1", "u2", "work-1-1", "answer", "end-1"]);
});

test("a command that the user ran is no work of the agent: it is always shown", () => {
  const ran = (id: string) => item(id, { type: "terminalCommand", terminalId: id, command: "ls", requestedBy: { kind: "client", principal: "owner", client: "x" } });
  expect(shown(ended([user("u"), call("e1", "edit"), call("e2", "edit"), ran("c"), said("answer")]))).toEqual(["u", "work-1", "c", "answer", "end-1"]);
  expect(shown(ended([ran("c1"), ran("c2")]))).toEqual(["c1", "c2", "end-1"]);
});

test("notices are never hidden", () => {
  const rows = ended(WORK);
  rows.splice(4, 0, { kind: "notice", details: [], key: "notice-9", notice: { seq: 9 } as never });
  expect(shown(rows)).toEqual(["u", "work-1", "notice-9", "answer", "end-1"]);
});

test("a row that a search leads to is shown", () => {
  expect(shown(ended(WORK), { target: "r2" })).toContain("r2");
});

test("failed, opened and running lookups are in no group", () => {
  const lookups = (one: Item) => [call("a", "read"), one, call("c", "read")];
  expect(shown(running(lookups(call("b", "read", { status: "failed" }))))).not.toContain("group-a");
  expect(shown(running(lookups(call("b", "read")), ["b"]))).not.toContain("group-a");
  expect(shown(running(lookups(call("b", "read"))), { chosen: (key) => (key === "b" ? true : undefined) })).not.toContain("group-a");
  expect(shown(running(lookups(call("b", "read"))))).toEqual(["group-a", "end-1"]);
});

test("a turn that is loaded in part has no summary", () => {
  expect(shown(ended(WORK.slice(3)), { partial: true })).toEqual(["group-r1", "e", "answer", "end-1"]);
});

test("the plans of an ended turn are above its end", () => {
  const plan = { entries: [{ content: "one", priority: "low", status: "pending" }] };
  const text = { planId: "b", entries: [], form: "markdown", markdown: "# b" } as const;
  expect(shown(ended([user("u")], { plans: [plan] }))).toEqual(["u", "plan-1", "end-1"]);
  expect(shown(ended([user("u")], { plans: [plan, { planId: "a", entries: [] }, text] }))).toEqual(["u", "plan-1", "plan-1-b", "end-1"]);
});

test("rows that did not change stay the same objects", () => {
  const layOut = layOutline();
  const rows = ended(WORK);
  const before = layOut(rows, options());
  expect(layOut([...rows], options())).toBe(before);
  const open = layOut(rows, options({ chosen: () => true }));
  expect(open.find(({ key }) => key === "group-r1")).toBe(layOut([...rows], options({ chosen: () => true })).find(({ key }) => key === "group-r1"));
});

test("the tally of a turn", () => {
  const location = (path: string) => ({ toolCall: { locations: [{ path }] } });
  const items = [
    call("1", "read", location("/a")), call("2", "read", location("/a")), call("3", "read", location("/b")), call("4", "search"), call("5", "search"),
    call("6", "execute", { status: "failed", toolCall: { content: [{ type: "terminal", terminalId: "x" }] } }),
    item("7", { type: "terminalCommand", terminalId: "x", exitCode: 1 }),
    item("8", { type: "terminalCommand", terminalId: "y", exitCode: 0 }),
  ];
  expect(wordsOf(tallyOf(items))).toEqual(["read 2 files", "searched twice", "ran 2 commands"]);
  expect(tallyOf(items).failed).toBe(1);
});

test("the changes of a turn: what a call describes and the daemon wrote counts once", () => {
  const edit = call("e", "edit", { toolCall: { content: [{ type: "diff", path: "/a", oldText: "1\n2\n", newText: "1\n3\n4\n" }] } });
  const written = item("w", { type: "fileChange", path: "/a", diff: "--- a/a\n+++ b/a\n@@ -1,2 +1,3 @@\n 1\n-2\n+3\n+4\n" });
  expect(changesOf([edit])).toEqual([{ path: "/a", added: 2, removed: 1 }]);
  expect(changesOf([edit, written])).toEqual([{ path: "/a", added: 2, removed: 1 }]);
});

const written = (id: string, more: object = {}) => item(id, { type: "fileChange", path: "/w/a", diff: "@@ -1 +1,2 @@\n-a\n+b\n+c\n", ...more });

test("a change that was rejected, failed or was interrupted has no lines, and is no change", () => {
  const content = [{ type: "diff", path: "/w/a", oldText: "a\n", newText: "b\n" }];
  for (const end of [{ outcome: "failed", status: "failed" }, { outcome: "interrupted", status: "pending" }]) {
    const edit = call("e", "edit", { ...end, toolCall: { content } });
    expect(changesOf([edit, written("f", { parentItemId: "e", outcome: end.outcome })])).toEqual([]);
  }
});

test("a rejected call is counted as that, and as nothing else", () => {
  const items = [call("x", "execute", { status: "failed", outcome: "failed" }), call("y", "execute", { status: "failed", outcome: "failed" })];
  const tally = tallyOf(items, (itemId) => itemId === "x");
  expect(tally).toMatchObject({ rejected: 1, failed: 1, commands: 1 });
});

test("a change that a call reports and the daemon wrote counts once", () => {
  const daemon = written("f", { replaced: "text" });
  expect(changesOf([daemon, written("g", { parentItemId: "e" })])).toHaveLength(1);
  expect(changesOf([daemon, written("g", { parentItemId: "e", path: "/w/b" })])).toHaveLength(2);
  expect(changesOf([written("g"), written("h")]), "two changes of a call").toHaveLength(2);
});

test("the work of a whole turn has the size of its changes, as its end says", () => {
  const changes = { files: 2, added: 28, removed: 5, incomplete: false };
  const work = (rows: readonly Row[]) => layOutline()(rows, options()).find(({ kind }) => kind === "work");
  expect(work(ended(WORK, { changes }))).toHaveProperty("changes", changes);
  const parts = [call("a", "edit"), call("b", "edit"), user("meanwhile"), ...WORK];
  expect(work(ended(parts, { changes }))).toHaveProperty("changes", undefined);
});

test("a command that was asked about and then ran in a terminal counts once", () => {
  const asked = call("x", "execute", { toolCall: { rawInput: { command: ["sh", "-c", "a; b"] } } });
  const ran = (id: string) => item(id, { type: "terminalCommand", terminalId: id, command: "sh", args: ["-c", "a; b"] });
  expect(tallyOf([asked, ran("t1")]).commands).toBe(1);
  expect(tallyOf([asked, ran("t1"), ran("t2")]).commands).toBe(2);
});

test("a command is shown and copied with the quotes that it runs with", () => {
  for (const rawInput of [{ command: "sh", args: ["-c", "a; b"] }, { command: ["sh", "-c", "a; b"] }]) {
    const one = call("x", "execute", { title: "`sh -c a; b`", toolCall: { rawInput } });
    expect(titleOf(one as Parameters<typeof titleOf>[0])).toBe("`sh -c 'a; b'`");
    expect(commandOf(rawInput)).toBe("sh -c 'a; b'");
  }
  expect(commandOf({ command: "a; b" })).toBe("a; b");
  expect(commandOf({ command: [7] })).toBeUndefined();
  expect(commandLine({ command: "a | b" })).toBe("a | b");
  expect(commandLine({ command: "my prog", args: ["é", ""] })).toBe("'my prog' é ''");
});

test("a delta asks nothing about the rows of ended turns, however many there are", () => {
  let asked: string[] = [];
  const chosen = (key: string) => {
    asked.push(key);
    return undefined;
  };
  const before = Array.from({ length: 300 }, (_, n) => ended(WORK, { key: `e${n}` })).flat();
  const layOut = layOutline();
  const live = (text: string) => [...before, ...running([user("u"), item("live", { type: "agentMessage", text })], ["live"])];
  const first = layOut(live("one"), options({ chosen }));
  expect(asked.length).toBeGreaterThan(300);
  asked = [];
  const second = layOut(live("one two"), options({ chosen }));
  expect(asked.length).toBeLessThan(10);
  expect(second.slice(0, -2)).toEqual(first.slice(0, -2));
  expect(second.at(-2)).toMatchObject({ item: { text: "one two" } });
  // A choice of the user counts at once.
  const opened = layOut(live("one two"), options({ chosen: (key) => key === "work-e7" || undefined }));
  expect(opened.length).toBeGreaterThan(second.length);
});
