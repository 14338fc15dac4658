/** Subagents: what events and the daemon's list say of them, and where their items are shown. */

import type { Item, Lane, Thread, ThreadEvent } from "@acpd/client";
import { expect, test } from "vitest";

import { fold, openThread } from "../../src/state/fold.ts";
import { atWorkWords, callOf, countAtWork, doing, isAboutEarlier, mayHaveLanes, nameOfSubagent, withLanes } from "../../src/state/lanes.ts";
import { layOutline, type ShownRow } from "../../src/state/outline.ts";
import { promptsOf } from "../../src/state/recall.ts";
import { layOut, rowKeyOf } from "../../src/state/rows.ts";
import type { ThreadState } from "../../src/state/thread.ts";

const thread = (more: Partial<Thread> = {}): Thread => ({
  additionalDirectories: [], agentType: "fake", archived: false, createdAt: 0, cwd: "/w", id: "t", latestSeq: 0, pendingRequestIds: [],
  queuedTurnIds: [], status: "idle", turnCount: 0, updatedAt: 0, ...more,
});
const empty = () => openThread({ thread: thread(), latestSeq: 0 });

/** Folds events, which get the members that all have. */
function after(state: ThreadState, ...events: readonly (readonly [string, object])[]): ThreadState {
  return events.reduce((before, [method, params]) => {
    const seq = before.seq + 1;
    return fold(before, { method, params: { threadId: "t", seq, ts: seq, ...params } } as unknown as ThreadEvent);
  }, state);
}

const started = ["turn/started", { turn: { id: "turn_1", status: "running" }, turnId: "turn_1" }] as const;
const reported = (lane: string, more: object = {}) => ["thread/lane/updated", { lane, turnId: "turn_1", ...more }] as const;
const born = (lane: string, more: object = {}) => reported(lane, { sessionId: `s-${lane}`, state: { state: "running" }, ...more });
const said = (itemId: string, lane?: string, type = "agentMessage") =>
  ["item/started", { itemId, type, turnId: "turn_1", text: itemId, outcome: "completed", ...(lane && { lane }) }] as const;
const call = (itemId: string, lane?: string) =>
  ["item/toolCall/started", { itemId, type: "toolCall", turnId: "turn_1", status: "completed", outcome: "completed", kind: "edit", title: itemId, ...(lane && { lane }) }] as const;

const outline = (state: ThreadState, ...open: string[]) =>
  layOutline()(layOut()(state), { chosen: (key) => (open.includes(key) ? true : undefined), usual: (_, unfinished) => unfinished });
const keys = (rows: readonly ShownRow[]) => rows.map(({ key }) => key);

test("a report is a patch: what it leaves out stays, and null is nothing", () => {
  const first = after(empty(), born("lane_1", { title: "review", description: "reads" }));
  expect(first.lanes.lane_1).toMatchObject({ title: "review", sessionId: "s-lane_1", parent: null, state: { state: "running" } });
  const second = after(first, reported("lane_1", { title: null, state: { state: "idle", stopReason: "end_turn" } }));
  expect(second.lanes.lane_1).toMatchObject({ title: null, description: "reads", state: { state: "idle" } });
  expect(after(second, ["thread/status/changed", { status: "idle" }]).lanes, "the same object").toBe(second.lanes);
});

test("states and the agent's ids end with its session, names do not", () => {
  const bound = (sessionId: string) => ["thread/updated", { agent: { sessionId, how: "new" } }] as const;
  const state = after(empty(), bound("s"), born("lane_1", { title: "review" }));
  expect(after(state, bound("s")).lanes.lane_1?.state, "the same session").toEqual({ state: "running" });
  for (const end of [bound("other"), ["thread/rolledBack", { lastKeptTurnId: null }]] as const) {
    expect(after(state, end).lanes.lane_1).toMatchObject({ title: "review", sessionId: null, state: null });
  }
});

test("of what was listed and what was reported meanwhile, the later counts", () => {
  const listed = (updatedAt: number, more: Partial<Lane> = {}): Lane => ({
    lane: "lane_1", assumed: false, mayCancel: true, sessionId: "s", startedAt: 1, updatedAt, title: "listed", ...more,
  });
  const seen = { lane_1: { state: { state: "idle" }, updatedAt: 5 } };
  expect(withLanes(seen, [listed(3, { state: { state: "running" } })]).lane_1).toMatchObject({ title: "listed", state: { state: "idle" } });
  expect(withLanes(seen, [listed(9, { state: { state: "running" } })]).lane_1).toMatchObject({ state: { state: "running" } });
  expect(withLanes({}, [])).toEqual({});
});

test("a thread asks for its subagents only if it may have some that it does not know", () => {
  expect(mayHaveLanes(empty())).toBe(false);
  expect(mayHaveLanes(openThread({ thread: thread({ status: "running" }), latestSeq: 0 }))).toBe(true);
  expect(mayHaveLanes({ ...empty(), turns: [{ items: [{ itemId: "i", lane: "lane_1" } as Item] }] })).toBe(true);
  const event = (more: object) => ({ method: "thread/lane/updated", params: { threadId: "t", seq: 1, ts: 1, lane: "lane_1", ...more } }) as ThreadEvent;
  expect(isAboutEarlier({}, event({ title: "x" }))).toBe(true);
  expect(isAboutEarlier({}, event({ sessionId: "s" }))).toBe(false);
  expect(isAboutEarlier({ lane_1: { sessionId: null } }, event({ title: "x" }))).toBe(false);
  const begun = (lane?: string) => ({ method: "item/started", params: { threadId: "t", seq: 1, ts: 1, itemId: "i", type: "agentMessage", lane } }) as ThreadEvent;
  expect(isAboutEarlier({}, begun("lane_1")), "no report may follow").toBe(true);
  expect([isAboutEarlier({}, begun()), isAboutEarlier({ lane_1: {} }, begun("lane_1"))]).toEqual([false, false]);
});

test("what works is counted while a turn runs", () => {
  const state = after(empty(), started, born("lane_1"), born("lane_2", { state: { state: "requires_action" } }), born("lane_3", { state: { state: "idle" } }));
  expect(countAtWork(state)).toBe(2);
  expect([1, 2].map(atWorkWords)).toEqual(["1 subagent at work", "2 subagents at work"]);
  expect(countAtWork(after(state, ["turn/completed", { turn: { id: "turn_1", status: "completed" }, turnId: "turn_1" }]))).toBe(0);
});

test("a subagent is named by its title, otherwise by its description or the agent's id, in one short line", () => {
  expect(nameOfSubagent({ title: "code_review", description: "x" })).toBe("code_review");
  expect(nameOfSubagent({ title: "  ", description: "reads", sessionId: "s" })).toBe("reads");
  expect(nameOfSubagent({ sessionId: "s" })).toBe("s");
  expect(nameOfSubagent({ title: null, sessionId: null })).toBeUndefined();
  const long = nameOfSubagent({ title: `a\n\u202E${"x".repeat(5_000)}` })!;
  expect([...long].length).toBe(80);
  expect(long).not.toMatch(/[\n\u202E]/);
  expect(callOf({ title: 'x" wants to run ls. Subagent "y' })).toBe("Subagent “x' wants to run ls. Subagent 'y”");
  expect(callOf(undefined)).toBe("Subagent");
});

test("what it does is a status; the agent's own words are shown as they are", () => {
  const of = (state: string, stopReason?: string) => doing({ state: { state, stopReason } }, false);
  expect(of("running")).toEqual({ status: "in_progress" });
  expect(of("requires_action")).toMatchObject({ said: "waiting for you" });
  expect(doing({ state: { state: "running" } }, true)).toMatchObject({ said: "waiting for you" });
  expect([of("idle"), of("idle", "end_turn")]).toEqual([{ status: "completed" }, { status: "completed" }]);
  expect(of("idle", "cancelled")).toMatchObject({ said: "stopped" });
  expect(of("idle", "max_tokens")).toEqual({ status: "failed", said: "max tokens" });
  expect(of("day_dreaming")).toMatchObject({ said: "day dreaming" });
  expect([of("unknown"), doing({}, false)]).toEqual([undefined, undefined]);
});

/** A turn in which a subagent has one of its own, and the main agent talks between. */
const story = () =>
  after(
    empty(), started, said("i1", undefined, "userMessage"), said("i2"), born("lane_1", { title: "build" }), said("i3", "lane_1", "userMessage"), call("i4", "lane_1"),
    born("lane_2", { parent: "lane_1", title: "deep" }), said("i5", "lane_2"), call("i6"), said("i7", "lane_1"), said("i8"),
  );

test("a subagent is one line where its first item was, and opens to its own conversation", () => {
  const state = story();
  const build = "lane-turn_1-lane_1";
  const deep = "lane-turn_1-lane_2";
  expect(layOut()(state).map(({ key }) => key)).toEqual(["i1", "i2", build, "i6", "i8", "end-turn_1"]);
  expect(keys(outline(state))).toEqual(["i1", "work-turn_1", "i2", build, "i6", "i8", "end-turn_1"]);
  const open = outline(state, build);
  expect(keys(open)).toEqual(["i1", "work-turn_1", "i2", build, "i3", "i4", deep, "i7", "i6", "i8", "end-turn_1"]);
  expect(open.flatMap((row) => (row.kind === "inner" ? [row.depth] : []))).toEqual([1, 1, 1, 1]);
  const all = outline(state, build, deep);
  expect(all.find(({ key }) => key === "i5")).toMatchObject({ kind: "inner", depth: 2 });
  const line = open.find(({ key }) => key === build);
  expect(line?.kind === "lane" && line.items.map(({ itemId }) => itemId)).toEqual(["i3", "i4", "i5", "i7"]);
  expect(line).toMatchObject({ open: true, live: true, subagent: { title: "build" } });
});

test("a subagent's words are neither the answer of the turn nor a prompt of the user", () => {
  const ended = after(story(), said("i9", "lane_1"), ["turn/completed", { turn: { id: "turn_1", status: "completed" }, turnId: "turn_1" }]);
  expect(keys(outline(ended))).toEqual(["i1", "work-turn_1", "i8", "end-turn_1"]);
  const prompted = after(empty(), started, said("i1", "lane_1", "userMessage"));
  const withContent = { ...prompted, turns: prompted.turns.map((turn) => ({ ...turn, items: turn.items.map((item) => ({ ...item, content: [{ type: "text", text: "go" }] }) as Item) })) };
  expect(promptsOf(withContent.turns)).toEqual([]);
});

test("what a subagent was told grows, names no thread, and leaves the suggestions and the user's messages as they are", () => {
  const told = (text: string) => ["item/userMessage", { itemId: "i1", turnId: "turn_1", lane: "lane_1", text, content: [{ type: "text", text }] }] as const;
  const open = ["item/started", { itemId: "i1", type: "userMessage", turnId: "turn_1", lane: "lane_1" }] as const;
  const before = after(
    empty(), started, ["thread/suggestions/updated", { seq: undefined, suggestions: [{ prompt: [{ type: "text", text: "next" }] }] }],
    ["turn/steering", { turnId: "turn_1", text: "b" }], open,
  );
  const state = after(before, told("a"), told("b"));
  expect(state.turns[0]?.items[0]).toMatchObject({ text: "ab", content: [{ type: "text", text: "ab" }] });
  expect([state.head.name, state.suggestions, state.steering.length]).toEqual([undefined, ["next"], 1]);
});

test("a plan of a subagent is not that of the thread or of the turn", () => {
  const plan = (lane?: string) => ["turn/plan/updated", { turnId: "turn_1", entries: [{ content: "x", priority: "low", status: "pending" }], ...(lane && { lane }) }] as const;
  const state = after(empty(), started, plan("lane_1"));
  expect([state.head.plans, state.turns[0]?.plans]).toEqual([undefined, undefined]);
  const both = after(state, plan(), ["turn/plan/removed", { turnId: "turn_1", lane: "lane_1" }]);
  expect([both.head.plans?.length, both.turns[0]?.plans?.length]).toEqual([1, 1]);
});

test("rows of a subagent that did not change stay the same objects, and a wanted item opens its lines", () => {
  const [rowsOf, outlineOf] = [layOut(), layOutline()];
  const options = { chosen: () => undefined, usual: () => true };
  const state = story();
  const before = outlineOf(rowsOf(state), options);
  const next = after(state, call("j1"));
  const shown = outlineOf(rowsOf(next), options);
  const of = (rows: readonly ShownRow[]) => rows.find(({ kind }) => kind === "lane");
  expect(of(shown)).toBe(of(before));
  expect(of(outlineOf(rowsOf(after(next, reported("lane_1", { title: "other" }))), options))).toMatchObject({ subagent: { title: "other" } });
  expect(rowKeyOf(rowsOf(state), "i5")).toBe("i5");
  expect(rowKeyOf(rowsOf(state), "missing")).toBe("missing");
  expect(keys(outlineOf(rowsOf(state), { ...options, target: "i5" }))).toContain("i5");
});

test("parents that lead in a circle, or are not known, end at the main agent", () => {
  const circle = after(empty(), started, born("lane_1", { parent: "lane_2" }), born("lane_2", { parent: "lane_1" }), said("i1", "lane_1"), said("i2", "lane_2"), said("i3", "lane_9"));
  const items = (rows: ReturnType<ReturnType<typeof layOut>>): string[] => rows.flatMap((row) => (row.kind === "lane" ? row.items.map(({ itemId }) => itemId) : []));
  expect(new Set(items(layOut()(circle)))).toEqual(new Set(["i1", "i2", "i3"]));
});
