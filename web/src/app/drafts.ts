/** Unsent texts and half-filled forms, stored in the browser. All tabs show the same ones. */

import { isRecord, stored } from "../state/stored.ts";

/** The draft of the form for a new thread. */
export const NEW_THREAD = "new";

/** Returns the name of the draft of an agent's form. */
export const formDraft = (requestId: string): string => `form:${requestId}`;

/** Maximum number of drafts; the oldest are dropped. */
const DRAFTS = 50;

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
  drafts.value = Object.fromEntries(kept.slice(-DRAFTS));
}
