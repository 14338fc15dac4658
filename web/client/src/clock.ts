/** Time and chance, so that tests can move them by hand. */

/** Where time comes from. */
export interface Clock {
  /** Milliseconds that never go back. */
  now(): number;
  /** Calls `run` once, `ms` from now; answers what `clear` takes. */
  set(run: () => void, ms: number): unknown;
  /** Takes a call back. */
  clear(timer: unknown): void;
}

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => performance.now(),
  set: (run, ms) => setTimeout(run, ms),
  clear: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
};

/** How long to wait between attempts: it doubles up to a bound, and half of it is chance. */
export interface Backoff {
  /** Before the first attempt, in milliseconds. */
  firstMs: number;
  /** Before any attempt, at most. */
  maxMs: number;
}

/** How long to wait before attempt `attempt`, which is counted from 0. */
export function delay(backoff: Backoff, attempt: number, random: () => number): number {
  const full = Math.min(backoff.maxMs, backoff.firstMs * 2 ** Math.min(attempt, 30));
  return full / 2 + (random() * full) / 2;
}
