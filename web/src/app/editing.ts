/**
 * Earlier messages that the user edits to send them again: one in each thread. The edited text is a draft of its own, so that
 * the thread's own draft is there again afterwards. Stored in the browser, as drafts are.
 */

import { isRecord, stored } from "../state/stored.ts";
import { DRAFTS, editDraft, keepDraft } from "./drafts.ts";

/** The edited turns, by thread. */
const edits = stored<Record<string, unknown>>("edits", {}, isRecord);

/** Returns the turn whose prompt the user edits in a thread. Views that call it follow changes. */
export function editedTurn(threadId: string): string | undefined {
  const turnId = Object.hasOwn(edits.value, threadId) ? edits.value[threadId] : undefined;
  return typeof turnId === "string" ? turnId : undefined;
}

/** Begins to edit the prompt of a turn, in place of another one of the thread. */
export function beginEdit(threadId: string, turnId: string, text: string): void {
  keepDraft(editDraft(threadId), text);
  const all = [...withoutEdit(threadId), [threadId, turnId] as const];
  for (const [dropped] of all.slice(0, -DRAFTS)) keepDraft(editDraft(dropped), "");
  edits.value = Object.fromEntries(all.slice(-DRAFTS));
}

/** Ends the editing, and drops the edited text. */
export function endEdit(threadId: string): void {
  keepDraft(editDraft(threadId), "");
  edits.value = Object.fromEntries(withoutEdit(threadId));
}

function withoutEdit(threadId: string): [string, unknown][] {
  return Object.entries(edits.peek()).filter(([other]) => other !== threadId);
}
