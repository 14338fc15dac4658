import type { Item, Thread } from "@acpd/client";
import { expect, test } from "vitest";

import { editedState, firstRemoved, promptOf, turnBefore, turnBegunBy } from "../../src/state/prompts.ts";
import type { FoldedTurn, ThreadState } from "../../src/state/thread.ts";

const said = (itemId: string, text: string) => ({ type: "userMessage", itemId, text, content: [{ type: "text", text }] }) as unknown as Item;
const answer = (itemId: string) => ({ type: "agentMessage", itemId, text: "yes" }) as unknown as Item;

function turn(number: number, items: readonly Item[], rest: Partial<FoldedTurn> = {}): FoldedTurn {
  const id = `turn_${number}`;
  return { key: id, id, status: "completed", items, ...rest };
}

/** Turns 9 and 10 with a message that was sent into turn 10, and turn 11, which the agent began. */
const turns = [
  { key: "outside", status: "completed", items: [answer("item_1")] } as FoldedTurn,
  turn(9, [said("item_2", "nine"), answer("item_3")]),
  turn(10, [said("item_4", "ten"), answer("item_5"), said("item_6", "and more")]),
  turn(11, [answer("item_7")]),
];

function thread(rest: Partial<ThreadState> = {}, head: Partial<Thread> = {}): ThreadState {
  return { turns, head: { queuedTurnIds: [], ...head }, ...rest } as unknown as ThreadState;
}

test("a message leads to the turn that it began; others began none", () => {
  const begun = (itemId: string) => turnBegunBy(thread(), itemId)?.id;
  expect(["item_2", "item_4", "item_6", "item_7", "item_1", "unknown"].map(begun)).toEqual([
    "turn_9", "turn_10", undefined, undefined, undefined, undefined,
  ]);
  expect(promptOf(turns[2]!)).toEqual([{ type: "text", text: "ten" }]);
  expect(promptOf(turn(1, []))).toEqual([]);
});

test("turns are counted by their numbers, not by their letters", () => {
  expect(turnBefore(thread(), "turn_10")).toBe("turn_9");
  expect(turnBefore(thread(), "turn_11")).toBe("turn_10");
  expect(turnBefore(thread(), "turn_9")).toBeUndefined();
  expect(firstRemoved(thread(), "turn_9")?.id).toBe("turn_10");
  expect(firstRemoved(thread(), "turn_10"), "the agent began what follows").toBeUndefined();
});

test("an edited message knows what leaves the conversation with it", () => {
  expect(editedState(thread(), "turn_10")).toEqual({ gone: false, first: false, isMissing: false, later: 1, waits: undefined });
  expect(editedState(thread(), "turn_9")).toEqual({ gone: false, first: true, isMissing: false, later: 2, waits: undefined });
  expect(editedState(thread({ older: "c" }), "turn_9"), "there are earlier ones").toMatchObject({ first: false });
});

test("a message whose turn was removed is gone; one that is not loaded is not", () => {
  expect(editedState(thread(), "turn_12").gone).toBe(true);
  expect(editedState(thread(), "turn_3").gone).toBe(true);
  expect(editedState(thread({ older: "c" }), "turn_3").gone).toBe(false);
  const missing = { isMissing: true, later: undefined, waits: "Load the earlier message to send this." };
  expect(editedState(thread({ older: "c" }, { turnId: "turn_11" }), "turn_3"), "it cannot be sent before it is known").toMatchObject(missing);
  expect(editedState(thread({ turns: [] }), "turn_3")).toMatchObject({ gone: true, later: 0 });
});

test("it waits for a running turn and for the queue, unless it is sent as a new message", () => {
  const queued = [...turns, turn(12, [], { status: "queued" })];
  expect(editedState(thread({}, { turnId: "turn_11" }), "turn_9").waits).toContain("Stop it");
  expect(editedState(thread({ turns: queued }, { queuedTurnIds: ["turn_12"] }), "turn_9").waits).toContain("queued");
  expect(editedState(thread({}, { turnId: "turn_11" }), "turn_12").waits).toBeUndefined();
});
