/** The output of commands: chunks that are shown live, and the whole output at the end. */

import type { Item, Thread, ThreadEvent } from "@acpd/client";
import { expect, test } from "vitest";

import { fold, openThread } from "../../src/state/fold.ts";
import type { ThreadState } from "../../src/state/thread.ts";

const ids = { threadId: "t", turnId: "1", itemId: "c", terminalId: "x", ts: 0 };

function running(item: object): ThreadState {
  const turns = [{ id: "1", status: "running", items: [{ itemId: "c", type: "terminalCommand", terminalId: "x", ...item } as Item] }];
  return openThread({ thread: { id: "t", turns, pendingRequestIds: [], queuedTurnIds: [] } as unknown as Thread, latestSeq: 4 });
}
const output = (text: string, more: object = {}) =>
  ({ method: "item/terminalCommand/output", params: { ...ids, text, ...more } }) as ThreadEvent;
const item = (state: ThreadState) => state.turns[0]!.items[0] as { output?: string; truncated?: boolean };

test("a live chunk that skipped bytes replaces the output, which it may repeat", () => {
  const before = running({ output: "one\ntwo\n" });
  expect(item(fold(before, output("three\n"))).output).toBe("one\ntwo\nthree\n");
  const after = item(fold(before, output("two\nthree\n", { skippedBytes: 4 })));
  expect(after).toMatchObject({ output: "two\nthree\n", truncated: true });
  // An event of the log comes after everything before it.
  expect(item(fold(before, output("four\n", { skippedBytes: 4, seq: 5 }))).output).toBe("one\ntwo\nfour\n");
});

test("a completed command takes no more output", () => {
  const before = running({ output: "all of it\n", outcome: "completed", exitCode: 0 });
  expect(fold(before, output("of it\n", { skippedBytes: 4 }))).toBe(before);
  expect(fold(before, output("of it\n"))).toBe(before);
});

test("a command waits for input until it writes, is typed into or ends", () => {
  const terminal = (method: string, more: object = {}) =>
    ({ method, params: { ...ids, terminalId: "t", ...more } }) as unknown as ThreadEvent;
  const waits = fold(running({ output: "name? " }), terminal("thread/terminal/waiting", { secret: true }));
  expect(item(waits)).toMatchObject({ waiting: true, secret: true });
  for (const next of [
    output("more"),
    terminal("thread/terminal/input"),
    terminal("item/terminalCommand/completed", { type: "terminalCommand", outcome: "completed", output: "all" }),
  ]) {
    expect(item(fold(waits, next))).toMatchObject({ waiting: false });
  }
  const done = running({ output: "all", outcome: "completed", exitCode: 0 });
  expect(fold(done, terminal("thread/terminal/waiting", { secret: false }))).toBe(done);
});

test("a message has the time of its start, except in an imported turn", () => {
  const start = (turnId: string, itemId: string, type: string) =>
    ({ method: "item/started", params: { threadId: "t", turnId, itemId, type, seq: 5, ts: 99 } }) as unknown as ThreadEvent;
  const opened = (imported: boolean) => {
    const turns = [{ id: "1", status: "running", imported, items: [] }];
    return openThread({ thread: { id: "t", turns, pendingRequestIds: [], queuedTurnIds: [] } as unknown as Thread, latestSeq: 4 });
  };
  const times = (imported: boolean) => fold(opened(imported), start("1", "m", "agentMessage")).turns[0]!.items.map(({ startedAt }) => startedAt);
  expect(times(false)).toEqual([99]);
  expect(times(true)).toEqual([undefined]);
});

test("the rest of a message is in its own turn while the next one runs", () => {
  const at = { threadId: "t", itemId: "late", type: "agentMessage", seq: 5, ts: 9 };
  const event = (method: string, turnId: string, more: object = {}) => ({ method, params: { ...at, turnId, ...more } }) as unknown as ThreadEvent;
  const message = (itemId: string, text: string) => ({ itemId, type: "agentMessage", text, content: [{ type: "text", text }] });
  const turns = [
    { id: "turn_1", status: "completed", items: [message("a", "the end is ne")] },
    { id: "turn_2", status: "running", items: [message("b", "so")] },
  ];
  const opened = (more: object = {}) =>
    openThread({ thread: { id: "t", turns, pendingRequestIds: [], queuedTurnIds: [], ...more } as unknown as Thread, latestSeq: 4 });
  const texts = (state: ThreadState) => state.turns.map(({ id, items }) => [id, ...items.map((item) => (item as { text?: string }).text)]);
  const begun = fold(opened(), event("item/started", "turn_1"));
  const said = fold(begun, event("item/agentMessage/delta", "turn_1", { seq: 6, text: "ar" }));
  expect(texts(said)).toEqual([
    ["turn_1", "the end is ne", "ar"],
    ["turn_2", "so"],
  ]);
  const done = fold(said, event("item/completed", "turn_1", { seq: 7, text: "ar", outcome: "completed" }));
  expect(done.turns.map(({ status }) => status)).toEqual(["completed", "running"]);
  // Its turn may be on a page that is not loaded.
  const newest = opened({ turns: turns.slice(1), cursor: "older" });
  expect(texts(fold(newest, event("item/started", "turn_1")))).toEqual([["turn_2", "so"]]);
});
