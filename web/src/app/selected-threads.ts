/** Operations on several threads: one request after another, at a pace below the daemon's limit. */

import type { Client, ThreadSummary } from "@acpd/client";

import { client, sentence } from "../connection/connection.ts";
import { nameOf } from "../state/threads.ts";

export type Subject = Pick<ThreadSummary, "id" | "name">;

/** A thread that an operation failed for. */
export interface Failure {
  readonly thread: Subject;
  /** The daemon's sentence. */
  readonly why: string;
}

/** The operation on one thread. */
export type Run = (now: Client, thread: Subject) => Promise<unknown>;

/** Requests that are sent without a pause. A connection may send 60 in 10 s, and the page sends others. */
const AT_ONCE = 15;
/** Time between further requests, in milliseconds. */
const PAUSE_MS = 350;
/** Time after a request that was one too many, in milliseconds, and how often it is repeated. */
const AGAIN_MS = 2_500;
const REPEATS = 4;

/**
 * Carries out an operation for each thread in order. `onDone` receives the number of threads that are done. An abort ends it
 * before the next thread. Returns the failures, and the threads for which it succeeded.
 */
export async function eachInOrder(
  threads: readonly Subject[],
  run: Run,
  onDone: (done: number) => void,
  signal: AbortSignal,
): Promise<{ done: Subject[]; failures: Failure[] }> {
  const done: Subject[] = [];
  const failures: Failure[] = [];
  for (const [at, thread] of threads.entries()) {
    if (at >= AT_ONCE) {
      await pause(PAUSE_MS, signal);
    }
    if (signal.aborted) {
      break;
    }
    try {
      await patiently(run, thread, signal);
      done.push(thread);
    } catch (error) {
      failures.push({ thread, why: sentence(error) });
    }
    onDone(at + 1);
  }
  return { done, failures };
}

async function patiently(run: Run, thread: Subject, signal: AbortSignal): Promise<void> {
  for (let repeats = 0; ; repeats += 1) {
    const now = client.peek();
    if (!now) {
      throw new Error("there is no connection");
    }
    try {
      await run(now, thread);
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== "rate_limited" || repeats === REPEATS || signal.aborted) {
        throw error;
      }
      await pause(AGAIN_MS, signal);
    }
  }
}

/** Waits, or until the abort. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((over) => {
    const timer = setTimeout(over, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), over()), { once: true });
  });
}

/** Returns a number of threads in words; a single one by its name. */
export function inWords(threads: readonly Subject[]): string {
  return threads.length === 1 ? `“${nameOf(threads[0]!)}”` : `${threads.length} threads`;
}
