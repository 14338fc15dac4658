/** Whether a thread's agent wants the user to sign in. */

import type { ThreadState } from "./thread.ts";

/** Returns when the agent last refused to open a session, unless a later turn has begun. */
export function signInWanted({ notices, turns }: ThreadState): number | undefined {
  const refused = notices.findLast(({ notice }) => notice.code === "signInRequired")?.notice.ts;
  return refused !== undefined && turns.every(({ startedAt }) => (startedAt ?? 0) <= refused) ? refused : undefined;
}
