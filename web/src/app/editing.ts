/**
 * Earlier messages that the user edits to send them again: one in each thread. The edited text is a draft of its own, so that
 * the thread's own draft is there again afterwards. Stored in the browser, as drafts are.
 */

import { isRecord, stored } from "../state/stored.ts";
import { keepDraft } from "./drafts.ts";

/** Maximum number of threads with an edited message, as of drafts; the oldest are dropped. */
const EDITS = 50;

/** The edited turns, by thread. */
const edits = stored<Record<string, unknown>>("edits", {}, isRecord);

/** Returns the name of the draft of a thread's edited message. */
export const editDraft = (threadId: string): string => `edit:${threadId}`;

/** Returns the turn whose prompt the user edits in a thread. Views that call it follow changes. */
export function editedTurn(threadId: string): string | undefined {
  const turnId = Object.hasOwn(edits.value, threadId) ? edits.value[threadId] : undefined;
  return typeof turnId === "string" ? turnId : undefined;
}

/** Begins to edit the prompt of a turn, in place of another one of the thread. */
export function beginEdit(threadId: string, turnId: string, text: string): void {
  keepDraft(editDraft(threadId), text);
  edits.value = Object.fromEntries([...withoutEdit(threadId), [threadId, turnId] as const].slice(-EDITS));
}

/** Ends the editing, and drops the edited text. */
export function endEdit(threadId: string): void {
  keepDraft(editDraft(threadId), "");
  edits.value = Object.fromEntries(withoutEdit(threadId));
}

function withoutEdit(threadId: string): [string, unknown][] {
  return Object.entries(edits.peek()).filter(([other]) => other !== threadId);
}
