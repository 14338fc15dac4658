/** Unsent texts and half-filled forms, stored in the browser. All tabs show the same ones. */

import { isRecord, stored } from "../state/stored.ts";

/** The draft of the form for a new thread. */
export const NEW_THREAD = "new";

/** Returns the name of the draft of an agent's form. */
export const formDraft = (requestId: string): string => `form:${requestId}`;

/** Returns the name of the draft of a thread's edited message. */
export const editDraft = (threadId: string): string => `${EDIT}${threadId}`;

const EDIT = "edit:";

/** Maximum number of drafts, and of edited messages; the oldest are dropped. */
export const DRAFTS = 50;

const drafts = stored<Record<string, unknown>>("drafts", {}, isRecord);

/** Returns a draft: of a thread, by its id, or another one by its name. Views that call it follow changes. */
export function draftOf(name: string): string {
  const draft = Object.hasOwn(drafts.value, name) ? drafts.value[name] : "";
  return typeof draft === "string" ? draft : "";
}

/** Stores a draft; an empty text removes it. */
export function keepDraft(name: string, text: string): void {
  const others = Object.entries(drafts.peek()).filter(([other]) => other !== name);
  const kept = text === "" ? others : [...others, [name, text] as const];
  // Counted apart: an edited message whose text was dropped for newer drafts would be there without it.
  const latest = (isEdit: boolean) => kept.filter(([other]) => other.startsWith(EDIT) === isEdit).slice(-DRAFTS);
  drafts.value = Object.fromEntries([...latest(false), ...latest(true)]);
}
