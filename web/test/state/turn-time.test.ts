/** The time of a turn: a question that waits for its answer is not the agent's work. */

import type { Thread, ThreadEvent } from "@acpd/client";
import { expect, test } from "vitest";

import { fold, openThread } from "../../src/state/fold.ts";
import type { ThreadState } from "../../src/state/thread.ts";
import { isLongWait, timeOf } from "../../src/state/turn-time.ts";

const HEAD: Thread = {
  additionalDirectories: [], agentType: "", archived: false, createdAt: 0, cwd: "", id: "t", latestSeq: 0,
  pendingRequestIds: [], queuedTurnIds: [], status: "idle", turnCount: 0, updatedAt: 0,
};
const EMPTY = openThread({ thread: HEAD, latestSeq: 0 });

/** Each event has its time. */
function replay(from: ThreadState, ...events: [method: string, ts: number, params?: object][]): ThreadState {
  return events.reduce((state, [method, ts, params]) => {
    const seq = state.seq + 1;
    return fold(state, { method, params: { seq, ts, threadId: "t", turnId: "turn_1", ...params } } as unknown as ThreadEvent);
  }, from);
}

type Step = [string, number, object?];
const started: Step = ["turn/started", 1_000, { turn: { id: "turn_1", status: "running", startedAt: 1_000 } }];
const asked = (requestId: string, ts: number): Step => ["item/permissions/requestApproval", ts, { requestId }];
const answered = (requestId: string, ts: number): Step => ["serverRequest/resolved", ts, { requestId, outcome: "accepted", by: { kind: "daemon" } }];
const time = (state: ThreadState, now: number) => timeOf(state.turns.at(-1)!, now);

test("the work of a turn does not grow while a question waits", () => {
  const state = replay(EMPTY, started, asked("q1", 5_000));
  expect(time(state, 5_000)).toEqual({ worked: 4_000, waited: 0 });
  expect(time(state, 245_000)).toEqual({ worked: 4_000, waited: 240_000 });
  // A second question waits at the same time: the turn waits until both are answered.
  const both = replay(state, asked("q2", 10_000), answered("q1", 65_000));
  expect(time(both, 70_000)).toEqual({ worked: 4_000, waited: 65_000 });
  const again = replay(both, answered("q2", 75_000));
  expect(time(again, 80_000)).toEqual({ worked: 9_000, waited: 70_000 });
  const over = replay(again, ["turn/completed", 81_000, { turn: { id: "turn_1", status: "completed", startedAt: 1_000, completedAt: 81_000, waitedMs: 70_000 } }]);
  expect(time(over, 999_000)).toEqual({ worked: 10_000, waited: 70_000 });
});

test("a page that opens a turn later has the same time", () => {
  const turn = { id: "turn_1", status: "running", startedAt: 1_000, waitedMs: 60_000, waitingSince: 90_000, items: [] };
  const thread = { ...HEAD, turnId: "turn_1", pendingRequestIds: ["q2"], turns: [turn] } as unknown as Thread;
  const state = openThread({ thread, latestSeq: 7 });
  expect(time(state, 100_000)).toEqual({ worked: 29_000, waited: 70_000 });
  // The daemon repeats the open question with its number.
  const repeated = fold(state, { method: "item/permissions/requestApproval", params: { seq: 6, ts: 90_000, threadId: "t", turnId: "turn_1", requestId: "q2" } } as unknown as ThreadEvent);
  expect(time(replay(repeated, answered("q2", 110_000)), 112_000)).toEqual({ worked: 31_000, waited: 80_000 });
});

test("a turn that ends while a question is open waits no longer", () => {
  const completed: Step = ["turn/completed", 9_000, { turn: { id: "turn_1", status: "interrupted", startedAt: 1_000, completedAt: 9_000, waitedMs: 4_000 } }];
  const state = replay(EMPTY, started, asked("q", 5_000), completed);
  expect(state.turns.at(-1)).not.toHaveProperty("waitingSince");
  expect(time(state, 99_000)).toEqual({ worked: 4_000, waited: 4_000 });
});

test("clocks that are set back, and turns of earlier versions, have a time", () => {
  const state = replay(EMPTY, started, asked("q", 5_000), answered("q", 4_000));
  expect(time(state, 6_000)).toEqual({ worked: 5_000, waited: 0 });
  expect(timeOf({ startedAt: 10, completedAt: 5 }, 0)).toEqual({ worked: 0, waited: 0 });
  expect(timeOf({}, 5)).toBeUndefined();
  expect([{ worked: 0, waited: 999 }, { worked: 0, waited: 1_000 }].map(isLongWait)).toEqual([false, true]);
});
