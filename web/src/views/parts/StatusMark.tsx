/** The activity of a thread, as a mark with a distinct shape: colour is never the only difference. */

import type { ThreadActivity } from "../../state/threads.ts";

const WORDS: Record<ThreadActivity, string> = {
  waiting: "waiting for you",
  running: "running",
  failed: "failed",
  idle: "idle",
};

/** `says` replaces the description of the activity. */
export function StatusMark({ live, says = WORDS[live] }: { live: ThreadActivity; says?: string }) {
  return (
    <span class={`live live-${live}`} role="img" aria-label={says} title={says}>
      <svg viewBox="0 0 14 14" width="14" height="14" aria-hidden="true">
        {live === "running" && (
          <>
            <circle cx="7" cy="7" r="4.5" fill="none" stroke="currentColor" stroke-width="1.6" opacity="0.250" />
            <path d="M7 2.500a4.5 4.5 0 0 1 4.5 4.5" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" />
          </>
        )}
        {live === "waiting" && (
          <>
            <circle cx="7" cy="7" r="5.5" fill="currentColor" />
            <path d="M7 4v3.600M7 9.800v.1" stroke="var(--bg)" stroke-width="1.6" stroke-linecap="round" />
          </>
        )}
        {live === "failed" && (
          <path d="M4.2 4.200l5.6 5.600M9.8 4.2 4.2 9.8" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" />
        )}
        {live === "idle" && <circle cx="7" cy="7" r="2" fill="currentColor" opacity="0.550" />}
      </svg>
    </span>
  );
}

/** The activity as text. `says` replaces its description. */
export function StatusPill({ live, says = WORDS[live] }: { live: ThreadActivity; says?: string }) {
  return (
    <span class={`pill live-${live}`}>
      <StatusMark live={live} says={says} />
      <span aria-hidden="true">{says}</span>
    </span>
  );
}
