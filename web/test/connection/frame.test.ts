/** How often a thread is published. */

import { expect, test } from "vitest";

import { frameMs } from "../../src/connection/open-thread.ts";
import type { ThreadState } from "../../src/state/thread.ts";

const ending = (length: number) =>
  ({ turns: [{ items: [{ itemId: "item_1", type: "agentMessage", text: "x".repeat(length) }] }] }) as unknown as ThreadState;

test("20 times a second, and less often the longer the message is that grows, but twice a second", () => {
  expect(frameMs({ turns: [] })).toBe(50);
  expect([0, 25_000, 50_000, 100_000, 300_000].map((length) => frameMs(ending(length)))).toEqual([50, 50, 100, 200, 500]);
});
