import type { Client } from "@acpd/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { eachInOrder, inWords, type Subject } from "../../src/app/selected-threads.ts";
import { client } from "../../src/connection/connection.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  client.value = undefined;
});

const threads = (count: number): Subject[] => Array.from({ length: count }, (_, n) => ({ id: `t${n}`, name: `Thread ${n}` }));
const refused = (code: string) => Object.assign(new Error(code), { code });

/** A daemon that answers with the results of a function, and notes when it was asked for what. */
function daemon(answer: (threadId: string) => unknown) {
  const asked: { id: string; at: number }[] = [];
  const call = async (_: string, { threadId }: { threadId: string }) => {
    asked.push({ id: threadId, at: Date.now() });
    return answer(threadId);
  };
  client.value = { call, on: () => () => {}, onState: () => () => {}, state: { name: "closed" } } as unknown as Client;
  // The page's own list asks, too.
  asked.length = 0;
  return asked;
}

async function run(of: readonly Subject[], abort = new AbortController()) {
  const progress: number[] = [];
  const result = eachInOrder(of, (now, { id: threadId }) => now.call("thread/archive", { threadId }), (done) => progress.push(done), abort.signal);
  await vi.advanceTimersByTimeAsync(400_000);
  return { ...(await result), progress };
}

test("requests go out in order, and never more than the daemon accepts in 10 seconds", async () => {
  const asked = daemon(() => ({}));
  const { done, failures, progress } = await run(threads(500));
  expect(asked.map(({ id }) => id)).toEqual(threads(500).map(({ id }) => id));
  expect([done.length, failures, progress.at(-1)]).toEqual([500, [], 500]);
  const most = Math.max(...asked.map(({ at }) => asked.filter((one) => one.at >= at && one.at < at + 10_000).length));
  expect(most).toBeLessThanOrEqual(45);
});

test("a failure names its thread, and the others go on", async () => {
  daemon((id) => (id === "t1" ? Promise.reject(new Error("a turn runs")) : {}));
  const { done, failures } = await run(threads(3));
  expect(done.map(({ id }) => id)).toEqual(["t0", "t2"]);
  expect(failures).toEqual([{ thread: { id: "t1", name: "Thread 1" }, why: "a turn runs" }]);
});

test("a request that was one too many is sent again later; one that always is, fails", async () => {
  let left = 2;
  const asked = daemon((id) => (id === "t9" || left-- > 0 ? Promise.reject(refused("rate_limited")) : {}));
  const { done, failures } = await run([...threads(1), { id: "t9", name: null }]);
  expect(done.map(({ id }) => id)).toEqual(["t0"]);
  expect(failures.map(({ why }) => why)).toEqual(["rate_limited"]);
  expect(asked.filter(({ id }) => id === "t0")).toHaveLength(3);
  expect(asked.filter(({ id }) => id === "t9")).toHaveLength(5);
});

test("an abort ends it before the next thread, also in a pause", async () => {
  const abort = new AbortController();
  const asked = daemon((id) => {
    if (id === "t16") {
      abort.abort();
    }
    return {};
  });
  expect((await run(threads(100), abort)).done).toHaveLength(17);
  expect(asked).toHaveLength(17);
});

test("without a connection nothing is done, and nothing at all needs none", async () => {
  expect((await run(threads(1))).failures[0]!.why).toBe("there is no connection");
  expect(await run([])).toEqual({ done: [], failures: [], progress: [] });
});

test("one thread is named, several are counted", () => {
  expect(inWords([{ id: "t", name: "Fix" }])).toBe("“Fix”");
  expect(inWords(threads(12))).toBe("12 threads");
});
