/** When answers in rows count: not while rows move. */

import type { Client, ListChanged, ThreadSummary } from "@acpd/client";
import { afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";

import { SETTLE_MS, settled } from "../../src/app/row-answers.ts";
import { threads } from "../../src/app/threads.ts";
import { client } from "../../src/connection/connection.ts";

const thread = (id: string, more: Partial<ThreadSummary> = {}): ThreadSummary => ({
  id, agentType: "fake", archived: false, createdAt: 1, cwd: "/w", status: "idle", turnCount: 1, updatedAt: 1, ...more,
});
const waits = (id: string, more: Partial<ThreadSummary> = {}) =>
  thread(id, { status: "waiting", question: { requestId: `${id}1`, type: "permission", title: "", more: 0 }, ...more });

let tell: (thread: ThreadSummary) => Promise<void>;

// The page's first wait began with the clock of the tests' host.
beforeAll(() => vi.waitFor(() => expect(settled.value).toBe(true)));
beforeEach(async () => {
  vi.useFakeTimers();
  const handlers = new Map<string, (change: ListChanged) => void>();
  const data = [waits("asks"), waits("pinned and asks", { pinned: true }), thread("pinned", { pinned: true }), thread("idle")];
  client.value = {
    state: { name: "open" },
    call: async () => ({ data }),
    on: (method: string, handler: (change: ListChanged) => void) => {
      handlers.set(method, handler);
      return () => {};
    },
    onState: () => () => {},
  } as unknown as Client;
  await vi.advanceTimersByTimeAsync(0);
  expect(threads.value).toHaveLength(4);
  tell = async (changed) => {
    handlers.get("thread/list/changed")!({ threadId: changed.id, thread: changed, ts: 1 } as ListChanged);
    await vi.advanceTimersByTimeAsync(60);
  };
  await vi.advanceTimersByTimeAsync(SETTLE_MS);
});
afterEach(() => {
  client.value = undefined;
  vi.useRealTimers();
});

test("answers wait while a pinned thread that asks nothing moves rows", async () => {
  expect(settled.value).toBe(true);
  await tell(thread("pinned", { pinned: true, updatedAt: 9 }));
  expect(settled.value).toBe(false);
  await vi.advanceTimersByTimeAsync(SETTLE_MS);
  expect(settled.value).toBe(true);
  await tell(thread("idle", { pinned: true, updatedAt: 10 }));
  expect(settled.value).toBe(false);
});

test("rows below the last question move nothing of it", async () => {
  await tell(thread("idle", { status: "running", updatedAt: 9 }));
  expect(settled.value).toBe(true);
  await tell(waits("another", { updatedAt: 10 }));
  expect(settled.value).toBe(false);
});
