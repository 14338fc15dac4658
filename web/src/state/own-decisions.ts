/** Answers to what acpd itself asks before an agent writes a file or runs a command: which item each has allowed. Pure. */

import type { Item, Resolved } from "@acpd/client";

import type { Note } from "./notes.ts";
import { commandLine, isUserCommand } from "./tool-calls.ts";

/**
 * Returns the answers that allowed an item, by the item. It starts after the answer, so the answer does not name it, but
 * the question did. An answer whose item has not started, or cannot be told, is none of them.
 */
export function ownDecisions(items: readonly Item[], after: ReadonlyMap<string, readonly Note[]>): ReadonlyMap<string, Resolved> {
  const decided = new Map<string, Resolved>();
  let open: Resolved[] = [];
  for (const item of items) {
    const wanted = open.length > 0 ? titleOf(item) : undefined;
    const answer = wanted === undefined ? undefined : open.find(({ title }) => isAbout(title ?? "", wanted));
    if (answer !== undefined) {
      decided.set(item.itemId, answer);
      open = open.filter((other) => other !== answer);
    }
    const answers = (after.get(item.itemId) ?? []).flatMap((note) => note.answer ?? []);
    open.push(...answers.filter(({ outcome, optionId }) => outcome === "accepted" && optionId != null));
  }
  return decided;
}

/** Returns the title of the question that acpd asks before such an item. */
function titleOf(item: Item): string | undefined {
  switch (item.type) {
    case "fileChange":
      return `Write ${item.path}`;
    case "terminalCommand": {
      // About a command of a user, acpd asks nothing.
      if (isUserCommand(item)) return undefined;
      return `Run ${commandLine(item)}`;
    }
    default:
      return undefined;
  }
}

/** A title may go on with where a link leads, and may be only a beginning. */
function isAbout(title: string, wanted: string): boolean {
  return title === wanted || title.startsWith(`${wanted}, `) || (title.length > LONG && wanted.startsWith(title));
}

/** Minimum length of a title that may have been cut, in characters: the daemon keeps 512 bytes. */
const LONG = 120;
