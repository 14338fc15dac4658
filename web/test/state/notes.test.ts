/** Notices and answers between items: where they stand, live and loaded. */

import type { Notice, Thread, ThreadEvent } from "@acpd/client";
import { expect, test } from "vitest";

import { fold, openThread } from "../../src/state/fold.ts";
import { layOut } from "../../src/state/rows.ts";
import type { ThreadState } from "../../src/state/thread.ts";

const HEAD: Thread = {
  additionalDirectories: [], agentType: "", archived: false, createdAt: 0, cwd: "", id: "t", latestSeq: 0,
  pendingRequestIds: [], queuedTurnIds: [], status: "idle", turnCount: 0, updatedAt: 0,
};
const EMPTY = openThread({ thread: HEAD, latestSeq: 0 });
const OWNER = { kind: "client", principal: "owner", client: "acpd-web" };

/** Numbers events in their order. */
function replay(from: ThreadState, ...events: [method: string, params: object][]): ThreadState {
  return events.reduce((state, [method, params]) => {
    const seq = state.seq + 1;
    return fold(state, { method, params: { seq, ts: seq, threadId: "t", ...params } } as unknown as ThreadEvent);
  }, from);
}

type Step = [string, object];
const started = (id: string, ts: number): Step => ["turn/started", { ts, turn: { id, status: "running", startedAt: ts } }];
const completed = (id: string, startedAt: number): Step => ["turn/completed", { turn: { id, status: "completed", startedAt, completedAt: 90 } }];
const said = (itemId: string, turnId: string): Step => ["item/started", { itemId, turnId, type: "agentMessage", text: itemId, outcome: "completed" }];
const notice = (code: string, more: object = {}): Step => ["thread/notice", { code, level: "warning", message: code, ...more }];
const lost = (level: string, code: number): Step => notice("agentLost", { level, message: `fake exited with code ${code}` });
const answered = (requestId: string, more: object = {}): Step => [
  "serverRequest/resolved", { requestId, outcome: "accepted", by: OWNER, title: "Where?", ...more },
];
const TURN: Step[] = [started("turn_1", 10), said("item_1", "turn_1"), completed("turn_1", 10)];
const keys = (state: ThreadState) => layOut()(state).map(({ key }) => key);
const noticeOf = (state: ThreadState, code: string) => {
  const row = layOut()(state).find((row) => row.kind === "notice" && row.notice.code === code);
  return row?.kind === "notice" ? row : undefined;
};

test("a notice that comes while a turn runs stands in it, and one that comes later after its end", () => {
  const state = replay(EMPTY, started("turn_1", 10), said("item_1", "turn_1"), notice("a"), completed("turn_1", 10), notice("b"));
  expect(keys(state)).toEqual(["item_1", "notice-3", "end-turn_1", "notice-5"]);
  const later = replay(state, started("turn_2", 20), said("item_2", "turn_2"));
  expect(keys(later)).toEqual(["item_1", "notice-3", "end-turn_1", "notice-5", "item_2", "end-turn_2"]);
});

test("loaded notices and answers stand where they stood live", () => {
  const by = OWNER as never;
  const place = { threadId: "t", ts: 1 };
  const inside = { ...place, seq: 3, code: "a", level: "warning", message: "a", afterItemId: "item_1" } as Notice;
  const turn = {
    id: "turn_1", status: "completed", startedAt: 10, completedAt: 90,
    items: [{ itemId: "item_1", type: "agentMessage", text: "", outcome: "completed" }],
    notices: [inside, { ...place, seq: 6, code: "b", level: "info", message: "b", afterTurn: true }],
    answers: [{ ...place, seq: 4, requestId: "q", outcome: "accepted", by, afterItemId: "item_1" }],
  } as NonNullable<Thread["turns"]>[0];
  const state = openThread({ thread: { ...HEAD, turns: [turn] }, latestSeq: 6 });
  expect(keys(state)).toEqual(["item_1", "notice-3", "answer-4", "end-turn_1", "notice-6"]);
});

test("an agent that forgot is one row, with the methods that failed inside", () => {
  const resumed: Step[] = [
    lost("info", 0), notice("notReopened", { message: "session/resume" }), notice("notReopened", { message: "session/load" }), notice("agentForgot"),
  ];
  const state = replay(EMPTY, ...TURN, ...resumed);
  expect(keys(state)).toEqual(["item_1", "end-turn_1", "notice-7"]);
  expect(noticeOf(state, "agentForgot")?.details.map(({ message }) => message)).toEqual([
    "fake exited with code 0", "session/resume", "session/load",
  ]);
});

test("an idle agent that ended as expected is no row, but one that crashed is, and one that ended in a turn", () => {
  expect(keys(replay(EMPTY, ...TURN, lost("info", 143), lost("error", 0)))).toEqual(["item_1", "end-turn_1"]);
  expect(noticeOf(replay(EMPTY, ...TURN, lost("error", 3)), "agentLost")).toBeDefined();
  expect(noticeOf(replay(EMPTY, started("turn_1", 10), said("item_1", "turn_1"), lost("error", 0)), "agentLost")).toBeDefined();
});

test("a place has at most sixteen notes, and none that the daemon leaves out", () => {
  const flood = Array.from({ length: 20 }, () => notice("malformedLine"));
  const state = replay(EMPTY, started("turn_1", 10), said("item_1", "turn_1"), ...flood, answered("q"));
  expect(layOut()(state).filter(({ kind }) => kind === "notice" || kind === "answer")).toHaveLength(16);
  const more = replay(state, said("item_2", "turn_1"), notice("large", { omitted: true }), answered("r", { omitted: true }), notice("b"));
  expect(layOut()(more).filter(({ kind }) => kind === "notice")).toHaveLength(17);
  expect(more.answers).toEqual([]);
});

test("after a rollback, notices stand after the last kept turn", () => {
  const two = replay(EMPTY, ...TURN, started("turn_2", 20), said("item_2", "turn_2"), notice("gone"), completed("turn_2", 20), notice("gone"));
  const state = replay(two, ["thread/rolledBack", { lastKeptTurnId: "turn_1" }], notice("a"));
  expect(keys(state)).toEqual(["item_1", "end-turn_1", `notice-${state.seq}`]);
  expect(keys(replay(two, ["thread/rolledBack", { lastKeptTurnId: null }], notice("a")))).toEqual([`notice-${state.seq}`]);
});

test("a turn that was removed from the queue leaves its notices", () => {
  const removed: Step = ["turn/completed", { turn: { id: "turn_2", status: "interrupted", completedAt: 95 } }];
  const queued: Step = ["turn/queued", { turn: { id: "turn_2", status: "queued", input: [] } }];
  expect(keys(replay(EMPTY, ...TURN, queued, removed, notice("a")))).toEqual(["item_1", "end-turn_1", "notice-6"]);
});

test("an answered form is a row for good; an answer about a call is not", () => {
  const state = replay(
    EMPTY,
    started("turn_1", 10), said("item_1", "turn_1"),
    answered("form", { answers: { name: "Ann" } }),
    answered("call", { itemId: "item_1", optionId: "a" }),
    answered("void", { outcome: "void" }),
  );
  expect(keys(state)).toEqual(["item_1", "answer-3", "end-turn_1"]);
  expect(state.answers.map(({ requestId }) => requestId)).toEqual(["form", "call"]);
});

test("what acpd itself was allowed is shown with the file or command that it allowed", () => {
  const own = (requestId: string, title: string, more: object = {}) => answered(requestId, { optionId: "allow", title, ...more });
  const file: Step = ["item/fileChange/started", { itemId: "item_2", turnId: "turn_1", type: "fileChange", path: "/w/a b.txt" }];
  const command: Step = ["item/terminalCommand/started", { itemId: "item_3", turnId: "turn_1", type: "terminalCommand", terminalId: "x", command: "echo", args: ["a b"] }];
  const state = replay(
    EMPTY,
    started("turn_1", 10), said("item_1", "turn_1"),
    own("no", "Write /w/a b.txt", { outcome: "declined" }),
    own("file", "Write /w/a b.txt, which is /real"), own("command", "Run echo 'a b'"), own("other", "Read /w/x"),
  );
  expect(keys(state)).toEqual(["item_1", "answer-3", "answer-4", "answer-5", "answer-6", "end-turn_1"]);
  const rows = layOut()(replay(state, file, command));
  expect(rows.map(({ key }) => key)).toEqual(["item_1", "answer-3", "answer-6", "item_2", "item_3", "end-turn_1"]);
  expect(rows.map((row) => row.kind === "item" && row.decision?.requestId)).toEqual([undefined, false, false, "file", "command", false]);
});

test("words for the running turn are those of the daemon until the agent takes them", () => {
  const turn = { id: "turn_1", status: "running", startedAt: 10, items: [{ itemId: "item_1", type: "agentMessage", text: "" }] };
  const steering = [{ seq: 4, turnId: "turn_1", text: "look left" }, { seq: 5, turnId: "turn_1", text: "look right" }];
  const thread = { ...HEAD, turnId: "turn_1", turns: [turn], steering } as unknown as Thread;
  const state = openThread({ thread, latestSeq: 5 });
  expect(keys(state)).toEqual(["item_1", "steering-4", "steering-5", "end-turn_1"]);
  expect(state.head).not.toHaveProperty("steering");
  const taken = replay(state, ["item/userMessage", { itemId: "item_2", turnId: "turn_1", text: "look left" }]);
  expect(taken.steering.map(({ text }) => text)).toEqual(["look right"]);
  const input = [{ type: "text", text: "look right" }];
  expect(replay(taken, ["turn/queued", { turn: { id: "turn_2", status: "queued", input } }]).steering).toEqual([]);
});

test("calls that a rule allowed are counted in their turn", () => {
  const permitted: Step = ["policy/permitted", { turnId: "turn_1", method: "m", subject: "s", by: { kind: "policy" } }];
  const state = replay(EMPTY, started("turn_1", 10), permitted, permitted);
  expect(state.turns.map((turn) => turn.permitted)).toEqual([2]);
});
