/** The list of threads follows the daemon. */

import type { Client, ListChanged, ListThreads, ThreadSummary } from "@acpd/client";
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

/** A daemon with threads, whose responses the test delays and fails. */
class Daemon {
  readonly asked: string[] = [];
  readonly state = { name: "open" };
  /** Latest first. */
  threads: ThreadSummary[] = [];
  readonly #handlers = new Map<string, (params: unknown) => void>();
  #failing = false;
  #held: (() => void)[] | undefined;

  readonly client = this as unknown as Client;

  async call(method: string, params: ListThreads = {}): Promise<unknown> {
    if (method === "thread/list/watch") {
      return {};
    }
    const { cursor, status, cwd, limit, pinned } = params;
    this.asked.push([status ?? cwd ?? (pinned ? "pinned" : "all"), cursor].filter(Boolean).join(" "));
    const failing = this.#failing;
    const from = Number(cursor ?? 0);
    const fitting = this.threads.filter((one) =>
      status === "active" ? one.status !== "idle" : pinned ? one.pinned === true : cwd == null || one.cwd === cwd,
    );
    const result = { data: fitting.slice(from, from + limit!), nextCursor: from + limit! < fitting.length ? String(from + limit!) : null };
    if (this.#held) {
      await new Promise<void>((next) => this.#held!.push(next));
    }
    if (failing) {
      throw new Error("too much");
    }
    return result;
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
  fail(failing: boolean): void {
    this.#failing = failing;
  }
  hold(): void {
    this.#held = [];
  }
  async release(): Promise<void> {
    const held = this.#held ?? [];
    this.#held = undefined;
    held.forEach((next) => next());
    await settled();
  }
}

const settled = () => vi.advanceTimersByTimeAsync(0);

function watching(...threads: ThreadSummary[]) {
  const daemon = new Daemon();
  daemon.threads = threads;
  const lists: string[][] = [];
  let floor = 0;
  const watch = watchThreads(daemon.client, (list) => {
    lists.push([...list.known.values()].map(({ id, status }) => `${id} ${status}`));
    floor = list.floor;
  });
  return { daemon, lists, watch, floor: () => floor };
}

/** Returns threads, latest first: the first was changed at `count`, the last at 1. */
const many = (count: number) => Array.from({ length: count }, (_, at) => thread(`t${at}`, { updatedAt: count - at }));

test("a change that arrives before the list takes precedence", async () => {
  const daemon = new Daemon();
  daemon.threads = [thread("one"), thread("two")];
  daemon.hold();
  const lists: string[][] = [];
  watchThreads(daemon.client, ({ known }) => lists.push([...known.values()].map(({ id, status }) => `${id} ${status}`)));
  await settled();
  daemon.tell("one", thread("one", { status: "waiting" }));
  await daemon.release();
  expect(lists).toEqual([["one waiting", "two idle"]]);
});

test("fast changes are published together", async () => {
  const { daemon, lists } = watching(thread("one"));
  await settled();
  daemon.tell("one", thread("one", { status: "running" }));
  daemon.tell("one", thread("one", { status: "waiting" }));
  expect(lists).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(50);
  expect(lists).toEqual([["one idle"], ["one waiting"]]);
  expect(daemon.asked).toHaveLength(3);
});

test("a hidden page, whose timers do not run, applies each change immediately", async () => {
  const { daemon, lists } = watching(thread("one"));
  await settled();
  vi.spyOn(document, "hidden", "get").mockReturnValue(true);
  daemon.tell("one", thread("one", { status: "waiting" }));
  expect(lists.at(-1)).toEqual(["one waiting"]);
});

test("after a reset, and on a new connection, the list is loaded again, with as many pages", async () => {
  const { daemon, lists, watch, floor } = watching(...many(250));
  await settled();
  expect([lists.at(-1)!.length, floor()]).toEqual([100, 151]);
  await watch.more();
  expect([lists.at(-1)!.length, floor()]).toEqual([200, 51]);
  daemon.threads = daemon.threads.slice(1);
  daemon.reset();
  await settled();
  expect([lists.at(-1)!.length, floor()]).toEqual([200, 50]);
  daemon.threads = [thread("three")];
  daemon.become("waiting");
  daemon.become("open");
  await settled();
  expect(lists.at(-1)).toEqual(["three idle"]);
});

test("all threads can be loaded, page by page, and then nothing more is requested", async () => {
  const { daemon, lists, watch, floor } = watching(...many(250));
  await settled();
  await Promise.all([watch.more(), watch.more()]);
  await watch.more();
  expect([new Set(lists.at(-1)).size, floor()]).toEqual([250, -Infinity]);
  expect(daemon.asked).toEqual(["active", "pinned", "all", "all 100", "all 200"]);
  await watch.more();
  expect(daemon.asked).toHaveLength(5);
});

test("a change takes precedence over a page that was requested before", async () => {
  const { daemon, lists, watch } = watching(...many(150));
  await settled();
  daemon.hold();
  const more = watch.more();
  daemon.tell("t120", null);
  daemon.tell("t130", thread("t130", { status: "running" }));
  await daemon.release();
  await more;
  expect(lists.at(-1)).toHaveLength(149);
  expect(lists.at(-1)).toContain("t130 running");
});

test("active threads are known, however old", async () => {
  const { lists } = watching(...many(150), thread("waits", { status: "waiting", updatedAt: 0 }));
  await settled();
  expect(lists.at(-1)).toContain("waits waiting");
});

test("pinned threads are known, however old", async () => {
  const { lists } = watching(...many(150), thread("pin", { pinned: true, updatedAt: 0 }));
  await settled();
  expect(lists.at(-1)).toContain("pin idle");
});

test("a selection has its own pages", async () => {
  const rare = thread("rare", { cwd: "/rare", updatedAt: 0 });
  const { daemon, lists, watch, floor } = watching(...many(150), rare);
  await settled();
  watch.select({ cwd: "/rare" });
  await settled();
  expect(daemon.asked.at(-1)).toBe("/rare");
  expect(lists.at(-1)).toContain("rare idle");
  expect(floor()).toBe(-Infinity);
  watch.select({});
  await settled();
  expect(floor()).toBe(51);
  expect(daemon.asked).toHaveLength(4);
});

test("a failed request is repeated, and a stopped list publishes nothing", async () => {
  const { daemon, lists, watch } = watching(thread("one"));
  daemon.fail(true);
  daemon.reset();
  await settled();
  daemon.fail(false);
  daemon.hold();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(daemon.asked.length).toBeGreaterThan(1);
  const before = lists.length;
  watch.stop();
  await daemon.release();
  daemon.tell("one", thread("one"));
  expect(lists).toHaveLength(before);
});
