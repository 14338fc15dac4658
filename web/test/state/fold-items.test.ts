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
