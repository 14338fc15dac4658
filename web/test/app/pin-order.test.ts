import type { Client, ListChanged, ThreadSummary } from "@acpd/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { isMovingPin, mayOrderPins, movePin, shownPins, stepPin } from "../../src/app/pin-order.ts";
import { filter, threads } from "../../src/app/threads.ts";
import { toasts } from "../../src/app/toasts.ts";
import { client, link, standing } from "../../src/connection/connection.ts";

const pinned = (id: string, pinPlace?: number) =>
  ({ id, name: id.toUpperCase(), agentType: "fake", cwd: "/w", status: "idle", updatedAt: 100 - id.charCodeAt(0), turnCount: 1, pinned: true, pinPlace }) as ThreadSummary;

let asked: string[] = [];
/** The orders of the list after each request. */
let orders: string[] = [];
let refusal: string | undefined;
/** The request that the daemon refuses, and those after it: the first one is 0. */
let refusedFrom = 0;

/** A daemon with these pinned threads, which tells the list of each place. */
async function daemon(...data: ThreadSummary[]): Promise<void> {
  let tell: (change: ListChanged) => void = () => {};
  const call = async (method: string, params: Record<string, unknown> = {}) => {
    if (method === "thread/pin/set") {
      asked.push(`${String(params.threadId)} ${String(params.place)}`);
      if (refusal !== undefined && asked.length > refusedFrom) {
        throw new Error(refusal);
      }
      const at = data.findIndex(({ id }) => id === params.threadId);
      data[at] = { ...data[at]!, pinPlace: params.place as number };
      tell({ threadId: params.threadId, thread: data[at] } as unknown as ListChanged);
      await vi.waitFor(() => expect(threads.peek()!.find(({ id }) => id === params.threadId)!.pinPlace).toBe(params.place));
      orders.push(shownPins().join(""));
    }
    return { data: method === "thread/list" ? [...data] : [], since: 0 };
  };
  const on = (method: string, listener: (change: ListChanged) => void) => {
    if (method === "thread/list/changed") {
      tell = listener;
    }
    return () => {};
  };
  link.value = { name: "open" } as typeof link.value;
  client.value = { call, on, onState: () => () => {}, state: { name: "open" } } as unknown as Client;
  await vi.waitFor(() => expect(threads.value).toHaveLength(data.length));
}

const texts = () => toasts.value.map(({ text }) => text);

beforeEach(() => {
  asked = [];
  orders = [];
  refusal = undefined;
  refusedFrom = 0;
  standing.value = { name: "in", session: { principal: "ann", role: "operator" } };
});
afterEach(() => {
  client.value = undefined;
  toasts.value = [];
  filter.value = {};
});

test("a pinned thread moves one place up or down", async () => {
  await daemon(pinned("a", 100), pinned("b", 200), pinned("c", 300));
  await stepPin("c", -1);
  await stepPin("a", 1);
  expect(asked).toEqual(["c 150", "a 175"]);
  expect(orders).toEqual(["acb", "cab"]);
});

test("the first move gives places, and no order on its way is another one than that before or after it", async () => {
  await daemon(pinned("a"), pinned("b"), pinned("c"), pinned("d"));
  expect(shownPins().join("")).toBe("abcd");
  await stepPin("d", -1);
  expect(orders).toEqual(["abdc", "abdc", "abdc", "abdc"]);
});

test("moves in one tick run one after another, each with the order that the last one has made", async () => {
  await daemon(pinned("a"), pinned("b"), pinned("c"), pinned("d"));
  const both = [stepPin("d", -1), stepPin("d", -1)];
  expect(isMovingPin()).toBe(true);
  await Promise.all(both);
  expect(isMovingPin()).toBe(false);
  expect(shownPins().join("")).toBe("adbc");
  // The first one has given places to all, so the second one needs one request.
  expect(asked).toHaveLength(5);
});

test("a connection that breaks leaves the others in their order", async () => {
  await daemon(pinned("a"), pinned("b"), pinned("c"), pinned("d"));
  refusal = "there is no connection";
  refusedFrom = 2;
  await stepPin("d", -1);
  expect([asked.length, shownPins().join("")]).toEqual([3, "abdc"]);
  expect(texts()).toEqual(["Couldn’t move “B”: there is no connection"]);
});

test("at the ends there is no move, but a message, and only one", async () => {
  await daemon(pinned("a", 100), pinned("b", 200));
  await Promise.all([stepPin("a", -1), stepPin("a", -1), stepPin("b", 1), stepPin("gone", 1)]);
  expect(texts()).toEqual([
    "“A” is already the first pinned thread",
    "“B” is already the last pinned thread",
    "Only threads in the list of pinned threads can be moved",
  ]);
  expect(asked).toEqual([]);
});

test("a thread that a filter hides moves among all pinned ones", async () => {
  await daemon(pinned("a", 100), pinned("b", 200), pinned("c", 300));
  filter.value = { agentType: "other" };
  expect(shownPins()).toEqual([]);
  await stepPin("c", -1);
  expect(asked).toEqual(["c 150"]);
});

test("a place that the daemon refuses is said with the thread's name", async () => {
  await daemon(pinned("a", 100), pinned("b", 200));
  refusal = "the daemon is stopping";
  await movePin("b", "a");
  expect(texts()).toEqual(["Couldn’t move “B”: the daemon is stopping"]);
});

test("only those who may pin may order", async () => {
  await daemon(pinned("a", 100), pinned("b", 200));
  expect(mayOrderPins()).toBe(true);
  standing.value = { name: "in", session: { principal: "ann", role: "approver" } };
  expect(mayOrderPins()).toBe(false);
  await movePin("b", "a");
  expect(asked).toEqual([]);
});
