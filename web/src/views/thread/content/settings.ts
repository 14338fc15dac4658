// The user's settings of thread views, and drafts; stored in the browser.

import { isRecord, stored } from "../../../state/stored.ts";
import type { DiffStyle } from "./context.ts";

/** The key that sends a message; the other one of the two starts a new line. */
export type SendKey = "enter" | "modEnter";

export const diffStyle = stored<DiffStyle>(
  "diff-style",
  "unified",
  (value) => value === "unified" || value === "split",
);

export const sendKey = stored<SendKey>("send-key", "enter", (value) => value === "enter" || value === "modEnter");

/** Maximum number of drafts; the oldest are dropped. */
const DRAFTS = 50;

const drafts = stored<Record<string, string>>("drafts", {}, isRecord);

/** Returns the draft of a thread. */
export function draftOf(threadId: string): string {
  const draft: unknown = Object.hasOwn(drafts.peek(), threadId) ? drafts.peek()[threadId] : "";
  return typeof draft === "string" ? draft : "";
}

export function keepDraft(threadId: string, text: string): void {
  const others = Object.entries(drafts.peek()).filter(([id]) => id !== threadId);
  const kept = text === "" ? others : [...others, [threadId, text] as const];
  drafts.value = Object.fromEntries(kept.slice(-DRAFTS));
}
