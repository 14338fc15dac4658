import { AcpdError, type Client, type FollowOptions } from "@acpd/client";
import { expect, onTestFinished, test, vi } from "vitest";

import { OpenThread } from "../../src/connection/open-thread.ts";

type Call = (method: string, params: Record<string, unknown>) => Promise<unknown>;

/** Opens a thread that the daemon refuses. */
async function refused(retryable: boolean) {
  const error = new AcpdError("overloaded", "too many threads are open", { retryable });
  const follow = vi.fn((_: string, { onEnd }: FollowOptions) => {
    queueMicrotask(() => onEnd?.(error));
    return { resumed: Promise.reject(error), close: () => {} };
  });
  const open = new OpenThread({ follow, on: () => () => {} } as unknown as Client, "t");
  await vi.advanceTimersByTimeAsync(0);
  return { open, follow, error };
}

/** Opens a thread of this status; returns what it follows. */
async function opened(status: string, archived = false, rest: object = {}, call: Call = () => Promise.reject(new Error("no")), replacesTurns = true) {
  const close = vi.fn();
  const thread = { id: "t", status, archived, turns: [], ...rest, pendingRequestIds: [], queuedTurnIds: [], latestSeq: 7 };
  const follow = vi.fn((_: string, __: FollowOptions) => ({ resumed: Promise.resolve({ thread, latestSeq: 7 }), close }));
  const state = { name: "open", server: { capabilities: { replacesTurns } } };
  const client = { follow, on: () => () => {}, call, ready: () => Promise.resolve(), answer: () => () => {}, state };
  const open = new OpenThread(client as unknown as Client, "t");
  await vi.waitFor(() => expect(open.shown.value).toBeDefined());
  return { open, follow, close };
}

test("an idle thread starts its agent once, and its own reader stays", async () => {
  const { open, follow, close } = await opened("idle");
  expect(follow.mock.calls[0]![1].startAgent).toBe(false);
  open.startAgent();
  open.startAgent();
  expect(follow).toHaveBeenCalledTimes(2);
  expect(follow.mock.calls[1]![1]).toMatchObject({ after: 7, startAgent: true });
  await vi.waitFor(() => expect(close).toHaveBeenCalledTimes(1));
  open.close();
});

test.each([["running", false], ["waiting", false], ["failed", false], ["idle", true]])("a thread that is %s starts none (archived: %s)", async (status, archived) => {
  const { open, follow } = await opened(status, archived);
  open.startAgent();
  expect(follow).toHaveBeenCalledTimes(1);
  open.close();
});

test("an edited message replaces the earlier one in one request, which is repeated under its id when the connection ended", async () => {
  const lost = [Object.assign(new Error("disconnected"), { code: "disconnected" })];
  const call = vi.fn<Call>(async () => {
    const error = lost.pop();
    if (error !== undefined) throw error;
    return {};
  });
  const { open } = await opened("idle", false, {}, call);
  await open.sendInstead("turn_2", "better", [{ type: "image" }]);
  const [[method, params], again] = call.mock.calls as [Parameters<Call>, Parameters<Call>];
  expect([method, params]).toEqual(["turn/start", {
    threadId: "t", text: "better", input: [{ type: "image" }], replacesTurnId: "turn_2", clientTurnId: expect.any(String),
  }]);
  expect(again).toEqual([method, params]);
  expect(call).toHaveBeenCalledTimes(2);
  open.close();
});

test("a daemon that would add an edited message to the conversation does not get it", async () => {
  const call = vi.fn<Call>(async () => ({}));
  const { open } = await opened("idle", false, {}, call, false);
  await expect(open.sendInstead("turn_2", "better", [])).rejects.toThrow("Edit it in a fork instead.");
  expect(call).not.toHaveBeenCalled();
  await open.send("new", [], "queue");
  expect(call).toHaveBeenCalledOnce();
  open.close();
});

test("a fork before a message has the turn before it last, also if that is not loaded yet", async () => {
  const turn = (id: string) => ({ id, status: "completed", items: [] });
  const call = vi.fn<Call>(async (method) => {
    if (method === "thread/read") return { thread: { id: "t", latestSeq: 7, turns: [turn("turn_1")] } };
    return method === "thread/fork" ? { thread: { id: "forked" } } : {};
  });
  const { open } = await opened("idle", false, { turns: [turn("turn_2"), turn("turn_3")], cursor: "c" }, call);
  const shown = vi.fn();
  open.onForked = shown;
  const prepare = vi.fn(() => expect(shown).not.toHaveBeenCalled());
  await open.forkBefore("turn_2", prepare);
  const [, params] = call.mock.calls.find(([method]) => method === "thread/fork")!;
  expect(params.turnId).toBe("turn_1");
  expect([prepare.mock.calls, shown.mock.calls]).toEqual([[["forked"]], [["forked"]]]);
  await expect(open.forkBefore("turn_1", prepare)).rejects.toThrow("Start a new thread");
  open.close();
});

test("a fork before a message waits for a page that is being loaded, and for all pages up to the turn", async () => {
  const turn = (id: string) => ({ id, status: "completed", items: [] });
  const pages = [
    { turns: [turn("turn_3")], cursor: "b" },
    { turns: [turn("turn_2")], cursor: "a" },
    { turns: [turn("turn_1")] },
  ];
  let answer = () => {};
  const answered = new Promise<void>((done) => (answer = done));
  const call = vi.fn<Call>(async (method) => {
    if (method === "thread/fork") return { thread: { id: "forked" } };
    if (method !== "thread/read") return {};
    const page = pages.shift()!;
    await answered;
    return { thread: { id: "t", latestSeq: 7, ...page } };
  });
  const { open } = await opened("idle", false, { turns: [turn("turn_4")], cursor: "c" }, call);
  const scrolled = open.loadOlder();
  const forked = open.forkBefore("turn_2", () => {});
  answer();
  await Promise.all([scrolled, forked]);
  expect(call.mock.calls.find(([method]) => method === "thread/fork")![1].turnId).toBe("turn_1");
  open.close();
});

test("a fork whose earlier turns cannot be loaded says why", async () => {
  const call = vi.fn<Call>(async () => {
    throw new Error("too many requests");
  });
  const { open } = await opened("idle", false, { turns: [{ id: "turn_4", status: "completed", items: [] }], cursor: "c" }, call);
  await expect(open.forkBefore("turn_4", () => {})).rejects.toThrow("too many requests");
  open.close();
});

test("a turn is loaded with all pages up to it; one that was removed, up to the turn before it", async () => {
  const turn = (id: string) => ({ id, status: "completed", items: [] });
  const read = (wanted: string) => {
    const pages = [{ turns: [turn("turn_4")], cursor: "b" }, { turns: [turn("turn_2")], cursor: "a" }, { turns: [turn("turn_1")] }];
    const call = vi.fn<Call>(async (method) => (method === "thread/read" ? { thread: { id: "t", latestSeq: 7, ...pages.shift() } } : {}));
    return { call, wanted };
  };
  for (const { call, wanted } of [read("turn_2"), read("turn_3")]) {
    const { open } = await opened("idle", false, { turns: [turn("turn_5")], cursor: "c" }, call);
    await open.loadTurn(wanted);
    await vi.waitFor(() => expect(open.shown.value!.thread.turns.map(({ id }) => id)).toEqual(["turn_2", "turn_4", "turn_5"]));
    open.close();
  }
});

test("the subagents of a thread are asked for once, and only where there may be any", async () => {
  const lane = { lane: "lane_1", title: "review", startedAt: 1, updatedAt: 2, assumed: false, mayCancel: true };
  const call = vi.fn<Call>(async (method) => (method === "thread/lanes" ? { data: [lane] } : {}));
  const asked = () => call.mock.calls.filter(([method]) => method === "thread/lanes");
  const idle = await opened("idle", false, {}, call);
  expect(asked()).toEqual([]);
  const [, { onEvent }] = idle.follow.mock.calls[0]!;
  const report = (seq: number, more: object) => onEvent!({ method: "thread/lane/updated", params: { threadId: "t", seq, ts: seq, lane: "lane_1", ...more } } as never);
  report(8, { state: { state: "running" } });
  report(9, { state: { state: "idle" } });
  await vi.waitFor(() => expect(idle.open.shown.value?.thread.lanes.lane_1).toMatchObject({ title: "review", state: { state: "idle" } }));
  expect(asked()).toEqual([["thread/lanes", { threadId: "t" }]]);
  idle.open.close();
  const items = [{ itemId: "item_1", type: "agentMessage", lane: "lane_1" }];
  const { open } = await opened("idle", false, { turns: [{ id: "turn_1", status: "completed", items }] }, call);
  await vi.waitFor(() => expect(open.shown.value?.thread.lanes.lane_1?.title).toBe("review"));
  expect(asked()).toHaveLength(2);
  open.close();
});

test("a thread that the daemon refuses for now is requested again a few times, then the error is shown", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  for (const [retryable, attempts] of [[true, 5], [false, 1]] as const) {
    const { open, follow, error } = await refused(retryable);
    expect(open.failed.value).toBe(retryable ? undefined : error);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(follow).toHaveBeenCalledTimes(attempts);
    expect(open.failed.value).toBe(error);
    open.close();
  }
  const { open, follow } = await refused(true);
  open.close();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(follow, "it is left").toHaveBeenCalledTimes(1);
});
