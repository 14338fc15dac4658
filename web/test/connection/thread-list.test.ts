/** The list of threads follows what the daemon tells. */

import type { Client, ListChanged, ThreadSummary } from "@acpd/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { watchThreads } from "../../src/connection/thread-list.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

function thread(id: string, more: Partial<ThreadSummary> = {}): ThreadSummary {
  return { id, agentType: "fake", archived: false, createdAt: 1, cwd: "/w", status: "idle", turnCount: 1, updatedAt: 1, ...more };
}

/** A daemon whose answers are given by hand. */
class Daemon {
  readonly asked: string[] = [];
  readonly state = { name: "open" };
  readonly #handlers = new Map<string, (params: unknown) => void>();
  #answers: { resolve: (result: unknown) => void; reject: (error: Error) => void }[] = [];

  readonly client = this as unknown as Client;

  call(method: string): Promise<unknown> {
    this.asked.push(method);
    return method === "thread/list/watch"
      ? Promise.resolve({})
      : new Promise((resolve, reject) => this.#answers.push({ resolve, reject }));
  }
  on(method: string, handler: (params: unknown) => void): () => void {
    this.#handlers.set(method, handler);
    return () => void this.#handlers.delete(method);
  }
  onState(handler: (state: unknown) => void): () => void {
    return this.on("state", handler as (params: unknown) => void);
  }
  become(name: string): void {
    this.state.name = name;
    this.#handlers.get("state")?.({ name });
  }
  tell(threadId: string, thread: ThreadSummary | null): void {
    this.#handlers.get("thread/list/changed")?.({ threadId, thread, ts: 1 } satisfies ListChanged);
  }
  reset(): void {
    this.#handlers.get("thread/list/reset")?.({});
  }
  async answer(...data: ThreadSummary[]): Promise<void> {
    await vi.advanceTimersByTimeAsync(0);
    this.#answers.shift()!.resolve({ data });
    await vi.advanceTimersByTimeAsync(0);
  }
  async refuse(): Promise<void> {
    await vi.advanceTimersByTimeAsync(0);
    this.#answers.shift()!.reject(new Error("too much"));
    await vi.advanceTimersByTimeAsync(0);
  }
}

function watching() {
  const daemon = new Daemon();
  const lists: string[][] = [];
  const watch = watchThreads(daemon.client, (list) => lists.push(list.map(({ id, status }) => `${id} ${status}`)));
  return { daemon, lists, watch };
}

test("it watches first and asks then; a change that comes in between wins", async () => {
  const { daemon, lists } = watching();
  daemon.tell("one", thread("one", { status: "waiting" }));
  await daemon.answer(thread("one"), thread("two"));
  expect(daemon.asked).toEqual(["thread/list/watch", "thread/list"]);
  expect(lists).toEqual([["one waiting", "two idle"]]);
});

test("changes that come fast are handed on together", async () => {
  const { daemon, lists } = watching();
  await daemon.answer(thread("one"));
  daemon.tell("one", thread("one", { status: "running" }));
  daemon.tell("one", thread("one", { status: "waiting" }));
  expect(lists).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(50);
  expect(lists).toEqual([["one idle"], ["one waiting"]]);
  expect(daemon.asked).toHaveLength(2);
});

test("in the background, where timers stand still, each is heard at once", async () => {
  const { daemon, lists } = watching();
  await daemon.answer(thread("one"));
  vi.spyOn(document, "hidden", "get").mockReturnValue(true);
  daemon.tell("one", thread("one", { status: "waiting" }));
  expect(lists.at(-1)).toEqual(["one waiting"]);
});

test("after a reset, and on a new connection, the list is asked for again", async () => {
  const { daemon, lists } = watching();
  await daemon.answer(thread("one"), thread("gone"));
  daemon.reset();
  await daemon.answer(thread("one"), thread("two"));
  expect(lists.at(-1)).toEqual(["one idle", "two idle"]);
  daemon.become("waiting");
  daemon.become("open");
  await daemon.answer(thread("three"));
  expect(lists.at(-1)).toEqual(["three idle"]);
});

test("what was refused is asked again, and what is stopped says nothing", async () => {
  const { daemon, lists, watch } = watching();
  await daemon.refuse();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(daemon.asked).toEqual(["thread/list/watch", "thread/list", "thread/list/watch", "thread/list"]);
  watch.stop();
  await daemon.answer(thread("one"));
  daemon.tell("one", thread("one"));
  expect(lists).toEqual([]);
});
