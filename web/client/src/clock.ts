/** Time and randomness, as interfaces that tests can control. */

/** A source of time and timers. */
export interface Clock {
  /** Milliseconds of a monotonic clock. */
  now(): number;
  /** Calls `run` once, after `ms` milliseconds; returns a handle for `clear`. */
  set(run: () => void, ms: number): unknown;
  /** Cancels a call. */
  clear(timer: unknown): void;
}

/** The system clock. */
export const systemClock: Clock = {
  now: () => performance.now(),
  set: (run, ms) => setTimeout(run, ms),
  clear: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
};

/** Exponential backoff between attempts, with an upper limit and random jitter of up to a half. */
export interface Backoff {
  /** Delay before the first attempt, in milliseconds. */
  firstMs: number;
  /** Maximum delay before any attempt, in milliseconds. */
  maxMs: number;
}

/** Returns the delay before attempt `attempt`, which is counted from 0. */
export function delay(backoff: Backoff, attempt: number, random: () => number): number {
  const full = Math.min(backoff.maxMs, backoff.firstMs * 2 ** Math.min(attempt, 30));
  return full / 2 + (random() * full) / 2;
}
