/**
 * The order in which one key leads through all that waits: oldest first, and nothing twice until all was shown. Pure.
 */

/** What is known of a waiting thread: its oldest open question, and since when that waits. */
export interface Waits {
  readonly threadId: string;
  /** Absent if the daemon has not described the question. */
  readonly requestId: string | undefined;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/** The questions that this round has shown. */
export type Shown = ReadonlySet<string>;

export interface NextStop {
  /** The thread to show; `undefined` if nothing waits. */
  readonly threadId: string | undefined;
  readonly shown: Shown;
}

/**
 * Takes the next step from the open thread. When all questions were shown, a new round begins with the oldest one. The
 * open thread is shown already, so another one comes first.
 */
export function nextStep(waits: readonly Waits[], before: Shown, open: string | undefined): NextStop {
  const here = waits.filter(({ threadId }) => threadId === open).map(keyOf);
  const waiting = new Set(waits.map(keyOf));
  // Answered questions are forgotten.
  const shown = new Set([...before, ...here].filter((key) => waiting.has(key)));
  const ordered = [...waits].sort((one, other) => one.since - other.since || (one.threadId < other.threadId ? -1 : 1));
  const next = ordered.find((one) => !shown.has(keyOf(one)));
  if (next !== undefined) {
    return { threadId: next.threadId, shown: shown.add(keyOf(next)) };
  }
  const again = ordered.find(({ threadId }) => threadId !== open) ?? ordered[0];
  return { threadId: again?.threadId, shown: new Set(again === undefined ? [] : [...here, keyOf(again)]) };
}

/** Returns the number of questions of other threads that this round has yet to show. */
export function leftOf(waits: readonly Waits[], shown: Shown, open: string | undefined): number {
  return waits.filter((one) => one.threadId !== open && !shown.has(keyOf(one))).length;
}

function keyOf({ threadId, requestId }: Waits): string {
  return requestId ?? threadId;
}
