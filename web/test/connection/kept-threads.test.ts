/** Threads that the user leaves and opens again. */

import type { Client, FollowOptions, Subscriber, ThreadEvent } from "@acpd/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { KEPT_BYTES, KEPT_THREADS, KeptThreads } from "../../src/connection/kept-threads.ts";
import { OpenThread } from "../../src/connection/open-thread.ts";
import { holdQuestions } from "../../src/connection/questions.ts";
import type { Question } from "../../src/state/thread.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

interface Followed {
  readonly options: FollowOptions;
  readonly close: () => void;
  readonly respond: (latestSeq: number) => Promise<void>;
  readonly isOpen: () => boolean;
}

/** A daemon with threads of one turn, whose message has a text. */
function daemon(text = "hello") {
  const followed: Followed[] = [];
  const handlers = new Map<string, Set<(params: unknown) => void>>();
  const asks = new Map<string, (params: unknown, context: { signal: AbortSignal }) => unknown>();
  const client = {
    follow: (threadId: string, options: FollowOptions) => {
      let open = true;
      let settle = (_: unknown) => {};
      const resumed = new Promise((resolve) => (settle = resolve));
      const items = [{ type: "agentMessage", itemId: "item_1", text, outcome: "completed" }];
      const turns = options.after === undefined ? [{ id: "turn_1", status: "completed", items }] : undefined;
      const close = vi.fn(() => {
        open = false;
        options.onEnd?.();
      });
      const thread = { id: threadId, status: "idle", archived: false, turns, pendingRequestIds: [], queuedTurnIds: [] };
      const respond = async (latestSeq: number) => {
        settle({ thread: { ...thread, latestSeq }, latestSeq });
        await vi.advanceTimersByTimeAsync(60);
      };
      followed.push({ options, close, respond, isOpen: () => open });
      return { resumed, close };
    },
    on: (method: string, handler: (params: unknown) => void) => {
      handlers.set(method, (handlers.get(method) ?? new Set()).add(handler));
      return () => handlers.get(method)!.delete(handler);
    },
    answer: (method: string, handler: (params: unknown, context: { signal: AbortSignal }) => unknown) => {
      asks.set(method, handler);
      return () => {};
    },
    call: () => Promise.reject(new Error("no")),
  };
  const others = (threadId: string, list: Subscriber[]) =>
    handlers.get("thread/subscribers/changed")?.forEach((handler) => handler({ threadId, others: list }));
  const listening = () => [...handlers.values()].reduce((sum, set) => sum + set.size, 0);
  /** Sends a question as a request. Returns what ends it, as the client does for the questions of a thread that is left. */
  const ask = ({ method, params }: ThreadEvent) => {
    const over = new AbortController();
    void asks.get(method)!(params, { signal: over.signal });
    return () => over.abort();
  };
  return { client: client as unknown as Client, followed, others, listening, ask };
}

const message = (threadId: string, seq: number) =>
  ({ method: "item/started", params: { threadId, seq, ts: seq, turnId: "turn_1", type: "agentMessage", itemId: `item_${seq}`, text: `event ${seq}` } }) as unknown as ThreadEvent;

const texts = (thread: OpenThread) => thread.shown.value!.thread.turns.flatMap(({ items }) => items.map((item) => ("text" in item ? item.text : "")));
const never = () => false;

test("a thread that is opened again is shown at once, and has every event once", async () => {
  const { client, followed, listening } = daemon();
  const kept = new KeptThreads();
  const thread = new OpenThread(client, "t");
  await followed[0]!.respond(7);
  followed[0]!.options.onEvent!(message("t", 8));
  kept.keep(thread);
  expect(followed[0]!.isOpen()).toBe(false);
  expect(listening()).toBe(0);

  expect(kept.take("t", never)).toBe(thread);
  // Before any response, and with the event that was not published yet.
  expect(texts(thread)).toEqual(["hello", "event 8"]);
  expect(followed[1]!.options).toMatchObject({ after: 8, startAgent: false });
  expect(followed[1]!.options.limit).toBeUndefined();
  followed[1]!.options.onEvent!(message("t", 8));
  followed[1]!.options.onEvent!(message("t", 9));
  await followed[1]!.respond(9);
  expect(texts(thread)).toEqual(["hello", "event 8", "event 9"]);
  expect(thread.shown.value!.thread.seq).toBe(9);
  expect(followed).toHaveLength(2);
  thread.close();
});

test("nothing scrolls to what was sent before, and the other subscribers are those of now", async () => {
  const { client, followed, others } = daemon();
  const thread = new OpenThread(client, "t");
  await followed[0]!.respond(7);
  others("t", [{ client: "zed" } as unknown as Subscriber]);
  await vi.advanceTimersByTimeAsync(60);
  expect(thread.shown.value!.thread.others).toHaveLength(1);
  await thread.send("more", [], "queue").catch(() => {});
  expect(thread.sent.value).toBeGreaterThan(0);
  thread.suspend();
  thread.resume();
  expect(thread.sent.value).toBe(0);
  expect(thread.shown.value!.thread.others).toEqual([]);
  thread.close();
});

const approval = (requestId: string, seq: number) =>
  ({ method: "item/commandExecution/requestApproval", params: { threadId: "t", seq, ts: seq, requestId, title: requestId, subjects: [] } }) as unknown as ThreadEvent;
const resolved = (requestId: string, seq: number) =>
  ({ method: "serverRequest/resolved", params: { threadId: "t", seq, ts: seq, requestId, outcome: "accepted", by: { kind: "client" } } }) as unknown as ThreadEvent;

test("a question is shown again once the daemon says that it is open, and not before", async () => {
  const { client, followed, ask } = daemon();
  holdQuestions(client);
  const thread = new OpenThread(client, "t");
  const asked = () => thread.shown.value!.thread.questions.map(({ params }: Question) => params.requestId);
  await followed[0]!.respond(7);
  followed[0]!.options.onEvent!(approval("a", 8));
  const end = ask(approval("a", 8));
  await vi.advanceTimersByTimeAsync(60);
  expect(asked()).toEqual(["a"]);

  // It is still open when the thread is opened again.
  thread.suspend();
  end();
  thread.resume();
  expect(asked()).toEqual([]);
  const endAgain = ask(approval("a", 8));
  await followed[1]!.respond(8);
  expect(asked()).toEqual(["a"]);

  // Meanwhile it was answered elsewhere, and the next one is open.
  thread.suspend();
  endAgain();
  thread.resume();
  expect(asked()).toEqual([]);
  followed[2]!.options.onEvent!(resolved("a", 9));
  followed[2]!.options.onEvent!(approval("b", 10));
  ask(approval("b", 10));
  await followed[2]!.respond(10);
  expect(asked()).toEqual(["b"]);
  thread.close();
});

test.each([
  ["has gone far ahead", 100_000],
  ["is at an earlier event, as after a restore", 3],
])("the latest turns are loaded if the log %s", async (_, latestSeq) => {
  const { client, followed } = daemon();
  const thread = new OpenThread(client, "t");
  await followed[0]!.respond(7);
  thread.suspend();
  thread.resume();
  const before = thread.shown.value;
  await followed[1]!.respond(latestSeq);
  expect(followed[1]!.isOpen()).toBe(false);
  expect(followed[2]!.options).toMatchObject({ limit: 10 });
  // Until they have arrived, the kept ones are shown.
  expect(thread.shown.value).toBe(before);
  await followed[2]!.respond(latestSeq);
  expect(thread.shown.value!.thread.seq).toBe(latestSeq);
  thread.close();
});

test("a thread without a state, one that was deleted, and one that failed are not kept", async () => {
  const { client, followed } = daemon();
  const kept = new KeptThreads();
  kept.keep(new OpenThread(client, "early"));
  expect(kept.take("early", never)).toBeUndefined();

  const deleted = new OpenThread(client, "deleted");
  await followed[1]!.respond(7);
  followed[1]!.options.onEvent!({ method: "thread/deleted", params: { threadId: "deleted", seq: 8, ts: 8 } } as unknown as ThreadEvent);
  kept.keep(deleted);
  expect(kept.take("deleted", never)).toBeUndefined();

  const failed = new OpenThread(client, "failed");
  await followed[2]!.respond(7);
  followed[2]!.options.onEnd!(new Error("gone"));
  kept.keep(failed);
  expect(kept.take("failed", never)).toBeUndefined();
});

test("an outdated thread is loaded anew", async () => {
  const { client, followed } = daemon();
  const kept = new KeptThreads();
  const thread = new OpenThread(client, "t");
  await followed[0]!.respond(7);
  kept.keep(thread);
  expect(kept.take("t", (_, head) => head.status === "idle")).toBeUndefined();
  expect(kept.take("t", never)).toBeUndefined();
  expect(followed).toHaveLength(1);
});

test("only some threads are kept, and only some memory", async () => {
  const leave = async (kept: KeptThreads, threads: readonly string[], text: string) => {
    const { client, followed } = daemon(text);
    for (const id of threads) {
      const thread = new OpenThread(client, id);
      await followed.at(-1)!.respond(7);
      kept.keep(thread);
    }
    await vi.advanceTimersByTimeAsync(1_000);
  };
  const ids = Array.from({ length: KEPT_THREADS + 2 }, (_, n) => `t${n}`);
  const isKept = (kept: KeptThreads) => (id: string) => {
    const thread = kept.take(id, never);
    thread?.close();
    return thread !== undefined;
  };
  const small = new KeptThreads();
  await leave(small, ids, "small");
  expect(ids.filter(isKept(small))).toEqual(ids.slice(2));

  // Three of them fit.
  const large = new KeptThreads();
  await leave(large, ids, "x".repeat(KEPT_BYTES / 2 / 3 - 2_000));
  expect(ids.filter(isKept(large))).toEqual(ids.slice(-3));

  // Even the last one alone does not.
  const absurd = new KeptThreads();
  await leave(absurd, ["huge"], "x".repeat(KEPT_BYTES));
  expect(isKept(absurd)("huge")).toBe(false);

  const cleared = new KeptThreads();
  await leave(cleared, ["t"], "small");
  cleared.clear();
  expect(isKept(cleared)("t")).toBe(false);
});
