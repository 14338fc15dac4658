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
