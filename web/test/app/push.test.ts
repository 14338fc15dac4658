/** The subscription for pushed notifications, with a browser and a daemon that the test holds. */

import { signal } from "@preact/signals";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { PushKind } from "../../src/connection/kept-key.ts";

const { state, locks } = vi.hoisted(() => {
  const locks: string[] = [];
  const state = {
    kept: undefined as object | undefined,
    put: [] as (readonly string[])[],
    /** Runs while the daemon stores a subscription. */
    whilePut: async () => {},
    subscribe: (): Promise<object> => Promise.resolve(state.subscription),
    register: (): Promise<unknown> => Promise.resolve(),
    subscription: { unsubscribe: async () => true, options: { applicationServerKey: new Uint8Array([1]).buffer } },
    subscribed: null as object | null,
    tail: Promise.resolve() as Promise<unknown>,
  };
  vi.stubGlobal("PushManager", class {});
  vi.stubGlobal("isSecureContext", true);
  vi.stubGlobal("Notification", { permission: "granted", requestPermission: async () => "granted" });
  const pushManager = {
    getSubscription: async () => state.subscribed,
    subscribe: async () => (state.subscribed = await state.subscribe()),
  };
  const registration = { pushManager, getNotifications: async () => [] };
  Object.defineProperty(navigator, "serviceWorker", {
    value: Object.assign(new EventTarget(), {
      startMessages: () => {},
      getRegistration: async () => registration,
      ready: Promise.resolve(registration),
    }),
  });
  Object.defineProperty(navigator, "locks", {
    value: {
      request: (name: string, run: () => Promise<void>) => {
        locks.push(name);
        const done = state.tail.then(run);
        state.tail = done.catch(() => {});
        return done;
      },
    },
  });
  return { state, locks };
});

vi.mock("../../src/connection/kept-key.ts", () => ({
  keptKey: async () => state.kept,
  keepKey: async (kept: object) => void (state.kept = kept),
  forgetKey: async () => void (state.kept = undefined),
}));
vi.mock("../../src/connection/push-api.ts", () => ({
  pushState: async () => ({ publicKey: btoa("\x01"), on: state.put.at(-1) }),
  putSubscription: async (_: object, on: readonly PushKind[]) => {
    await state.whilePut();
    state.put.push(on);
  },
  deleteSubscription: async () => {},
  pushTest: async () => {},
}));
vi.mock("../../src/app/install.ts", () => ({ registerWorker: () => state.register() }));

localStorage.setItem("acpd.page-key", "key");
const { link, standing } = await import("../../src/connection/connection.ts");
const { open } = await import("../../src/app/threads.ts");
const { pushProblem, wanted, wantedDone } = await import("../../src/app/notifications.ts");
const { turnOff, turnOn } = await import("../../src/app/push.ts");
await import("../../src/app/pushed.ts");

const isOpen = { name: "open" } as typeof link.value;

beforeEach(() => {
  standing.value = { name: "in", session: { principal: "owner", role: "owner" } };
  link.value = isOpen;
  wanted.value = true;
  wantedDone.value = false;
});
afterEach(async () => {
  vi.useRealTimers();
  state.subscribe = () => Promise.resolve(state.subscription);
  state.register = () => Promise.resolve();
  state.whilePut = async () => {};
  await turnOff();
  state.put.length = locks.length = 0;
});

test("a switch that is changed while notifications are being turned on reaches the daemon as well", async () => {
  state.whilePut = async () => {
    wantedDone.value = true;
    state.whilePut = async () => {};
  };
  await turnOn();
  expect(pushProblem.value).toBeUndefined();
  await vi.waitFor(() => expect(state.put).toEqual([["waiting"], ["waiting", "done", "failed"]]));
});

test("a switch that is changed and changed back while the daemon is told ends as it is shown", async () => {
  await turnOn();
  await state.tail;
  state.whilePut = async () => {
    wantedDone.value = false;
    state.whilePut = async () => {};
  };
  wantedDone.value = true;
  await vi.waitFor(() => expect(state.put).toEqual([["waiting"], ["waiting", "done", "failed"], ["waiting"]]));
});

test("what a browser does not do in time is a sentence", async () => {
  vi.useFakeTimers();
  state.subscribe = () => new Promise(() => {});
  const subscribing = turnOn();
  await vi.advanceTimersByTimeAsync(20_000);
  await subscribing;
  expect(pushProblem.value).toBe("The browser’s push service did not respond in time.");
  state.register = () => Promise.reject(new Error("the script is gone"));
  await turnOn();
  expect(pushProblem.value).toBe("The browser could not install acpd’s service worker: the script is gone.");
  state.register = () => Promise.resolve();
  state.subscribe = () => Promise.reject(new Error("Registration failed - permission denied"));
  await turnOn();
  expect(pushProblem.value).toBe("The browser’s push service refused: Registration failed - permission denied.");
});

test("only a page with a connection counts as one in which the user sees a thread", async () => {
  vi.spyOn(document, "hasFocus").mockReturnValue(true);
  open.value = { threadId: "t", shown: signal(undefined), close: () => {} } as unknown as typeof open.value;
  const replies = (): unknown[] => {
    const got: unknown[] = [];
    const port = { postMessage: (reply: unknown) => got.push(reply) };
    const event = Object.assign(new Event("message"), { data: { type: "asks", threadId: "t" }, ports: [port] });
    navigator.serviceWorker.dispatchEvent(event);
    return got;
  };
  expect(replies()).toEqual([{ isSeen: true }]);
  link.value = { name: "waiting", retryMs: 1, error: new Error("gone") };
  expect(replies()).toEqual([{ isSeen: false }]);
  link.value = { name: "connecting" };
  expect(replies()).toEqual([{ isSeen: false }]);
  link.value = isOpen;
  open.value = undefined;
  expect(replies()).toEqual([{ isSeen: false }]);
});
