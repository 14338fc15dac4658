import type { Client, FollowOptions } from "@acpd/client";
import { expect, test, vi } from "vitest";

import { OpenThread } from "../../src/connection/open-thread.ts";

/** Opens a thread of this status; returns what it follows. */
async function opened(status: string, archived = false) {
  const close = vi.fn();
  const thread = { id: "t", status, archived, turns: [], pendingRequestIds: [], queuedTurnIds: [], latestSeq: 7 };
  const follow = vi.fn((_: string, __: FollowOptions) => ({ resumed: Promise.resolve({ thread, latestSeq: 7 }), close }));
  const client = { follow, on: () => () => {}, call: () => Promise.reject(new Error("no")), answer: () => () => {} };
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
