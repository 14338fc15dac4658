/** What the user has seen: the daemon keeps it, and this browser only what the daemon does not have. */

import type { Client, SeenMark } from "@acpd/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

const id = (number: number) => `00000000-0000-7000-8000-${String(number).padStart(12, "0")}`;
const ABSENCE = { since: 100, until: 200 };

/** A daemon of which requests can fail. */
const daemon = {
  sent: [] as { threads: SeenMark[]; since: number }[],
  present: 0,
  absence: undefined as typeof ABSENCE | undefined,
  fails: false,
  handlers: new Map<string, (params: unknown) => void>(),
  state: { name: "open" },
  async call(method: string, params: { threads: SeenMark[]; since: number }): Promise<unknown> {
    if (daemon.fails) {
      throw new Error("the daemon is stopping");
    }
    switch (method) {
      case "thread/seen/set":
        daemon.sent.push(params);
        return { since: 5 };
      case "user/present":
        daemon.present += 1;
        return { away: daemon.absence ?? null };
      default:
        return { data: [] };
    }
  },
  on: (method: string, handler: (params: unknown) => void) => {
    daemon.handlers.set(method, handler);
    return () => {};
  },
  onState: () => () => {},
};

vi.useFakeTimers();
// What an earlier version has stored.
localStorage.setItem("acpd.seen", JSON.stringify({ [id(1)]: { at: 10, seq: 3 }, damaged: 7 }));
localStorage.setItem("acpd.since", "4");
const { client, link } = await import("../../src/connection/connection.ts");
const { see, seen, seenSince } = await import("../../src/app/seen.ts");
const { away } = await import("../../src/app/away.ts");

const hide = (hidden: boolean) => {
  vi.spyOn(document, "hidden", "get").mockReturnValue(hidden);
  document.dispatchEvent(new Event("visibilitychange"));
};
const connect = async () => {
  client.value = daemon as unknown as Client;
  link.value = { name: "open" } as typeof link.value;
  await vi.advanceTimersByTimeAsync(0);
};
const stored = () => JSON.parse(localStorage.getItem("acpd.seen") ?? "null") as unknown;

beforeEach(() => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  hide(false);
  daemon.sent = [];
  daemon.present = 0;
});
afterEach(async () => {
  daemon.fails = false;
  daemon.absence = undefined;
  away.value = undefined;
  client.value = undefined;
  link.value = { name: "connecting" };
});

test("the daemon takes over what this browser has stored, once", async () => {
  expect(seenSince.value).toBe(Infinity);
  await connect();
  expect(daemon.sent).toEqual([{ threads: [{ threadId: id(1), seenAt: 10 }], since: 4 }]);
  expect([seenSince.value, stored()]).toEqual([5, {}]);
  client.value = undefined;
  await connect();
  expect(daemon.sent[1]).toEqual({ threads: [], since: 4 });
});

test("what is seen without the daemon is sent by the next connection", async () => {
  see(id(2), 20);
  see(id(2), 19);
  expect(seen.value[id(2)]).toBe(20);
  daemon.fails = true;
  await connect();
  expect(stored()).toEqual({ [id(2)]: { at: 20 } });
  daemon.fails = false;
  client.value = undefined;
  await connect();
  expect(daemon.sent[0]?.threads).toEqual([{ threadId: id(2), seenAt: 20 }]);
  hide(true);
  see(id(2), 30);
  await vi.advanceTimersByTimeAsync(0);
  expect(daemon.sent).toHaveLength(1);
});

test("marks of other devices count, and do not go back", async () => {
  await connect();
  const others = daemon.handlers.get("thread/list/seen")!;
  others({ ts: 1, threads: [{ threadId: id(3), seenAt: 40 }] });
  others({ ts: 2, threads: [{ threadId: id(3), seenAt: 30 }] });
  expect(seen.value[id(3)]).toBe(40);
});

test("a page in front says so each half minute and when it leaves, and only the daemon says that the user was away", async () => {
  await connect();
  expect(daemon.present).toBe(1);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(daemon.present).toBe(3);
  hide(true);
  await vi.advanceTimersByTimeAsync(3_600_001);
  expect(daemon.present).toBe(4);
  hide(false);
  await vi.advanceTimersByTimeAsync(0);
  expect([daemon.present, away.value]).toEqual([5, undefined]);
  daemon.absence = ABSENCE;
  await vi.advanceTimersByTimeAsync(30_000);
  expect(away.value).toEqual(ABSENCE);
});
