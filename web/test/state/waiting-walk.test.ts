import { expect, test } from "vitest";

import { leftOf, nextStep, type Shown, type Waits } from "../../src/state/waiting-walk.ts";

const waits = (threadId: string, since: number, requestId: string | undefined = `${threadId}1`): Waits => ({ threadId, requestId, since });
/** Eight threads, in the order of a list: the latest first. */
const EIGHT = [..."hgfedcba"].map((id, at) => waits(id, 8 - at));

/** Presses the key some times; `answer` changes what waits after each step. */
function walk(list: readonly Waits[], presses: number, answer: (list: readonly Waits[], threadId: string) => readonly Waits[] = (same) => same) {
  let shown: Shown = new Set();
  let open: string | undefined;
  const visited: (string | undefined)[] = [];
  for (let press = 0; press < presses; press += 1) {
    const step = nextStep(list, shown, open);
    ({ shown } = step);
    open = step.threadId;
    visited.push(open);
    list = open === undefined ? list : answer(list, open);
  }
  return { visited: visited.map((id) => id ?? "-").join(""), list, shown, open };
}

const gone = (list: readonly Waits[], threadId: string) => list.filter((one) => one.threadId !== threadId);

test("all threads are shown once, oldest first, and then again", () => {
  expect(walk(EIGHT, 8).visited).toBe("abcdefgh");
  expect(walk(EIGHT, 11).visited).toBe("abcdefghabc");
});

test("answered threads leave, and the walk goes on behind them", () => {
  expect(walk(EIGHT, 9, gone).visited).toBe("abcdefgh-");
  // The first one has a form, which is left for later: it comes back once all others were shown.
  expect(walk(EIGHT, 10, (list, id) => (id === "a" ? list : gone(list, id))).visited).toBe("abcdefghaa");
  // Every other one is left.
  expect(walk(EIGHT, 12, (list, id) => ("aceg".includes(id) ? list : gone(list, id))).visited).toBe("abcdefghaceg");
});

test("a thread that starts to wait meanwhile comes in this round, after the older ones", () => {
  const arrives = (list: readonly Waits[], id: string) => (id === "c" ? [waits("z", 99), ...list] : list);
  expect(walk(EIGHT, 10, arrives).visited).toBe("abcdefghza");
  // One that asks again after it was left is new.
  const asksAgain = (list: readonly Waits[], id: string) => (id === "d" ? [waits("b", 99, "b2"), ...gone(list, "b")] : list);
  expect(walk(EIGHT, 9, asksAgain).visited).toBe("abcdefghb");
});

test("two questions of one thread are answered there: the second one is no other stop", () => {
  // After the answer to a1, the page shows a2 in the same thread.
  const second = (list: readonly Waits[], id: string) => (id === "a" ? [...gone(list, id), waits("a", 1, "a2")] : list);
  expect(walk(EIGHT, 8, second).visited).toBe("abcdefgh");
});

test("the open thread is not the next one, unless it is the only one", () => {
  expect(nextStep(EIGHT, new Set(), "a").threadId).toBe("b");
  expect(nextStep([waits("a", 1)], new Set(), "a").threadId).toBe("a");
  expect(nextStep([waits("a", 1), waits("b", 2)], new Set(["a1", "b1"]), "a").threadId).toBe("b");
  expect(nextStep([], new Set(["a1"]), "a")).toEqual({ threadId: undefined, shown: new Set() });
});

test("a question without a description counts by its thread, and equal times keep an order", () => {
  const list = [waits("b", 5, undefined), waits("a", 5)];
  expect(walk([{ ...list[0]!, requestId: undefined }, list[1]!], 3).visited).toBe("aba");
});

test("what is forgotten does not pile up, and the rest is counted", () => {
  const { shown, list, open } = walk(EIGHT, 3, gone);
  expect(shown.size).toBeLessThanOrEqual(1);
  expect(leftOf(list, shown, open)).toBe(5);
  expect(leftOf([], shown, open)).toBe(0);
});

test("hundreds of waiting threads are all shown", () => {
  const many = Array.from({ length: 500 }, (_, at) => waits(`t${at}`, 500 - at));
  let shown: Shown = new Set();
  const visited = new Set<string>();
  let open: string | undefined;
  for (const _ of many) {
    ({ shown, threadId: open } = nextStep(many, shown, open));
    visited.add(open!);
  }
  expect(visited.size).toBe(500);
});
