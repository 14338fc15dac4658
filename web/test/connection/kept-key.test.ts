import { afterEach, expect, test, vi } from "vitest";

import { forgetKey, keepKey, keptKey, StorageFailed } from "../../src/connection/kept-key.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A database whose opening ends in this way. */
const opening = (end: (request: { onsuccess?: () => void; onerror?: () => void; error?: Error }) => void) => ({
  open: () => {
    const request = { error: undefined as Error | undefined };
    queueMicrotask(() => end(request));
    return request;
  },
});

test("a browser that stores nothing says so in a sentence", async () => {
  const broken = [
    undefined,
    { open: () => { throw new Error("the operation is insecure"); } },
    opening((request) => { request.error = new Error("the disk is full"); request.onerror?.(); }),
  ];
  for (const indexedDB of broken) {
    vi.stubGlobal("indexedDB", indexedDB);
    for (const operation of [keptKey(), keepKey({ pageKey: "key", on: [] }), forgetKey()]) {
      const error: unknown = await operation.catch((error: unknown) => error);
      expect(error).toBeInstanceOf(StorageFailed);
      expect((error as Error).message).toMatch(/^This browser stores nothing for acpd, as in some private windows: .+\.$/);
    }
  }
});

test("a database that never responds is given up", async () => {
  vi.useFakeTimers();
  vi.stubGlobal("indexedDB", opening(() => {}));
  const failed = keptKey().catch((error: Error) => error.message);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await failed).toMatch(/: its database does not respond\.$/);
});
