import type { Client, ThreadSummary } from "@acpd/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { mayOrderPins, movePin, shownPins, stepPin } from "../../src/app/pin-order.ts";
import { threads } from "../../src/app/threads.ts";
import { toasts } from "../../src/app/toasts.ts";
import { client, link, standing } from "../../src/connection/connection.ts";

const pinned = (id: string, pinPlace?: number) =>
  ({ id, name: id.toUpperCase(), agentType: "fake", cwd: "/w", status: "idle", updatedAt: 10, turnCount: 1, pinned: true, pinPlace }) as ThreadSummary;

let asked: string[] = [];
let refusal: string | undefined;

/** A daemon with these pinned threads. */
async function daemon(...data: ThreadSummary[]): Promise<void> {
  const call = async (method: string, params: Record<string, unknown> = {}) => {
    if (method === "thread/pin/set") {
      asked.push(`${String(params.threadId)} ${String(params.place)}`);
      if (refusal !== undefined) {
        throw new Error(refusal);
      }
    }
    return { data: method === "thread/list" ? data : [], since: 0 };
  };
  link.value = { name: "open" } as typeof link.value;
  client.value = { call, on: () => () => {}, onState: () => () => {}, state: { name: "open" } } as unknown as Client;
  await vi.waitFor(() => expect(threads.value).toHaveLength(data.length));
}

beforeEach(() => {
  asked = [];
  refusal = undefined;
  standing.value = { name: "in", session: { principal: "ann", role: "operator" } };
});
afterEach(() => {
  client.value = undefined;
  toasts.value = [];
});

test("a pinned thread moves one place up or down, and not beyond the ends", async () => {
  await daemon(pinned("a", 100), pinned("b", 200), pinned("c", 300));
  expect(shownPins()).toEqual(["a", "b", "c"]);
  expect([stepPin("a", -1), stepPin("c", 1), stepPin("gone", 1)]).toEqual([false, false, false]);
  expect(stepPin("c", -1)).toBe(true);
  expect(stepPin("a", 1)).toBe(true);
  expect(stepPin("b", 1)).toBe(true);
  await vi.waitFor(() => expect(asked).toEqual(["c 150", "a 250", `b ${300 + 65_536}`]));
});

test("a place that the daemon refuses is said with the thread's name", async () => {
  await daemon(pinned("a", 100), pinned("b", 200));
  refusal = "the daemon is stopping";
  await movePin("b", "a");
  expect(toasts.value.map(({ text }) => text)).toEqual(["Couldn’t move “B”: the daemon is stopping"]);
});

test("only those who may pin may order", () => {
  expect(mayOrderPins()).toBe(true);
  standing.value = { name: "in", session: { principal: "ann", role: "approver" } };
  expect(mayOrderPins()).toBe(false);
});
