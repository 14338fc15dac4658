/** Whether a thread's agent wants the user to sign in. */

import type { Notice } from "@acpd/client";

import type { ThreadState } from "./thread.ts";

/** Returns when the agent last refused to open a session, unless a later turn has begun. */
export function signInWanted({ notices, turns }: ThreadState): number | undefined {
  const refused = lastRefusal(notices)?.ts;
  return refused !== undefined && turns.every(({ startedAt }) => (startedAt ?? 0) <= refused) ? refused : undefined;
}

/** Returns the notice about the last time that the agent refused to open a session. */
export function lastRefusal(notices: ThreadState["notices"]): Notice | undefined {
  return notices.findLast(({ notice }) => notice.code === "signInRequired")?.notice;
}

/** What acpd writes before a line that an agent prints for a sign-in. */
const PRINTED = "for the sign-in, the agent says: ";

/** Returns the lines that the agent has printed for a sign-in since it last refused to open a session. */
export function printedLines(notices: ThreadState["notices"]): string[] {
  const from = notices.findLastIndex(({ notice }) => notice.code === "signInRequired");
  const since = notices.slice(from + 1).filter(({ notice }) => notice.code === "signInPrinted");
  return [...new Set(since.map(({ notice: { message } }) => message.slice(message.startsWith(PRINTED) ? PRINTED.length : 0)))];
}
