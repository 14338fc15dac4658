/** The user's earlier prompts in a thread, and how the arrow keys walk through them. Pure. */

import { contentText, objects } from "./acp.ts";
import type { FoldedTurn } from "./thread.ts";

/** Maximum length of a recalled prompt, in UTF-16 units: a longer one was pasted, and is not written again. */
const LONGEST = 20_000;

/** Returns the prompts of the loaded turns, latest first, each once. Imported ones are what an agent says that a user said. */
export function promptsOf(turns: readonly FoldedTurn[]): string[] {
  const prompts = new Set<string>();
  for (const turn of turns.toReversed()) {
    const said = turn.imported === true ? undefined : turn.items.find(({ type, lane }) => type === "userMessage" && lane == null);
    const text = said?.type === "userMessage" ? contentText(objects(said.content)) : "";
    if (text.trim() !== "" && text.length <= LONGEST) {
      prompts.add(text);
    }
  }
  return [...prompts];
}

/** A walk through earlier prompts. It ends once the user changes the recalled text. */
export interface Recall {
  readonly prompts: readonly string[];
  readonly at: number;
}

/** What an arrow key does in a box with this text and caret: the text to show instead, and the walk from there on. */
export function recalled(
  key: string,
  text: string,
  caret: number,
  walk: Recall | undefined,
  promptsNow: () => readonly string[],
): { readonly text: string; readonly walk: Recall | undefined } | undefined {
  if (key === "ArrowUp" && text === "") {
    const prompts = promptsNow();
    return prompts.length > 0 ? { text: prompts[0]!, walk: { prompts, at: 0 } } : undefined;
  }
  if (walk === undefined || text !== walk.prompts[walk.at]) {
    return undefined;
  }
  const { prompts, at } = walk;
  // In a text of several lines, the arrow keys move the caret first.
  if (key === "ArrowUp" && at + 1 < prompts.length && !text.slice(0, caret).includes("\n")) {
    return { text: prompts[at + 1]!, walk: { prompts, at: at + 1 } };
  }
  if (key === "ArrowDown" && !text.slice(caret).includes("\n")) {
    return at === 0 ? { text: "", walk: undefined } : { text: prompts[at - 1]!, walk: { prompts, at: at - 1 } };
  }
  return undefined;
}
