/** Marks of threads that the user has seen. Pure. */

import type { SeenMark } from "@acpd/client";

/** A stored mark: the thread's time of change. */
export interface Seen {
  readonly at: number;
}

/** Maximum number of marks in one request. */
const AT_ONCE = 500;

/** Returns marks with the later ones of two lists. */
export function mostSeen(marks: Readonly<Record<string, number>>, more: readonly SeenMark[]): Readonly<Record<string, number>> {
  const most = { ...marks };
  for (const { threadId, seenAt } of more) {
    most[threadId] = Math.max(seenAt, most[threadId] ?? 0);
  }
  return most;
}

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Returns the marks that this browser stores, the latest first. What it stores may be damaged. */
export function marksOf(unsent: Readonly<Record<string, unknown>>): SeenMark[] {
  return Object.entries(unsent)
    .map(([threadId, mark]) => ({ threadId, seenAt: (mark as Partial<Seen> | null)?.at ?? -1 }))
    .filter(({ threadId, seenAt }) => ID.test(threadId) && Number.isSafeInteger(seenAt) && seenAt >= 0)
    .sort((one, other) => other.seenAt - one.seenAt);
}

/** Returns the marks for the next request. */
export const toSend = (unsent: Readonly<Record<string, unknown>>): SeenMark[] => marksOf(unsent).slice(0, AT_ONCE);

/** Returns what is left to send after a request. */
export function afterSent(unsent: Readonly<Record<string, unknown>>, sent: readonly SeenMark[]): Record<string, Seen> {
  const done = new Map(sent.map(({ threadId, seenAt }) => [threadId, seenAt]));
  const left = marksOf(unsent).filter(({ threadId, seenAt }) => seenAt > (done.get(threadId) ?? -1));
  return Object.fromEntries(left.map(({ threadId, seenAt }) => [threadId, { at: seenAt }]));
}
