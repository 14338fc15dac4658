/** Earlier prompts, as the arrow keys bring them back. */

import { expect, test } from "vitest";

import { promptsOf, type Recall, recalled } from "../../src/state/recall.ts";
import type { FoldedTurn } from "../../src/state/thread.ts";

const turn = (text: string | undefined, more: object = {}) =>
  ({
    key: text ?? "none",
    items: text === undefined ? [] : [{ itemId: "i", type: "userMessage", content: [{ type: "text", text }] }],
    ...more,
  }) as unknown as FoldedTurn;

test("prompts are the latest first, each once, without imported and huge ones", () => {
  expect(promptsOf([])).toEqual([]);
  const turns = [turn("one"), turn("two"), turn("imported", { imported: true }), turn(undefined), turn(" \n"), turn("x".repeat(20_001)), turn("one")];
  expect(promptsOf(turns)).toEqual(["one", "two"]);
});

/** Presses keys in a box; returns its texts. */
function pressed(keys: readonly string[], prompts: readonly string[], caretOf = (text: string) => text.length): (string | undefined)[] {
  let [text, walk]: [string, Recall | undefined] = ["", undefined];
  return keys.map((key) => {
    const next = recalled(key, text, caretOf(text), walk, () => prompts);
    if (next === undefined) return undefined;
    ({ text, walk } = next);
    return text;
  });
}

test("up and down walk through them, and back to the empty box", () => {
  expect(pressed(["ArrowUp", "ArrowUp", "ArrowUp", "ArrowDown", "ArrowDown", "ArrowDown"], ["b", "a"])).toEqual(["b", "a", undefined, "b", "", undefined]);
  expect(pressed(["ArrowUp"], [])).toEqual([undefined]);
  expect(pressed(["ArrowDown", "Enter"], ["b"])).toEqual([undefined, undefined]);
});

test("in several lines, the caret moves first", () => {
  expect(pressed(["ArrowUp", "ArrowUp"], ["one\ntwo", "a"])).toEqual(["one\ntwo", undefined]);
  expect(pressed(["ArrowUp", "ArrowUp"], ["one\ntwo", "a"], () => 0)).toEqual(["one\ntwo", "a"]);
  expect(pressed(["ArrowUp", "ArrowDown"], ["one\ntwo", "a"], () => 0)).toEqual(["one\ntwo", undefined]);
});

test("a text that the user has changed stays", () => {
  const walk = { prompts: ["b", "a"], at: 0 };
  expect(recalled("ArrowUp", "b and more", 0, walk, () => ["b"])).toBeUndefined();
  expect(recalled("ArrowUp", "typed", 0, undefined, () => ["b"])).toBeUndefined();
});
