/** Operations on several threads: one request after another, at a pace below the daemon's limit. */

import type { Client, ThreadSummary } from "@acpd/client";
import { signal } from "@preact/signals";

import { client, onLeave, sentence } from "../connection/connection.ts";
import { nameOf } from "../state/threads.ts";

export type Subject = Pick<ThreadSummary, "id" | "name">;

/** A thread that an operation failed for. */
export interface Failure {
  readonly thread: Subject;
  /** The daemon's sentence. */
  readonly why: string;
}

/** What has become of an operation. */
export interface Done {
  /** The threads for which it succeeded. */
  readonly done: readonly Subject[];
  readonly failures: readonly Failure[];
}

/** The operation on one thread. */
export type Run = (now: Client, thread: Subject) => Promise<unknown>;

/** An operation that is being carried out. */
export interface Work {
  /** The verb in progress: "Archiving". */
  readonly verb: string;
  readonly done: number;
  readonly of: number;
  readonly abort: AbortController;
}

/** The operation on the selected threads. It goes on, and can be stopped, whatever the list shows. */
export const work = signal<Work | undefined>(undefined);

// The next user has nothing to do with it.
onLeave(async () => {
  work.peek()?.abort.abort();
  work.value = undefined;
});

/** Runs `eachInOrder` as the `work` of the page, up to the end of `onDone`. After the user has signed out, that is not called. */
export async function workOn(verb: string, threads: readonly Subject[], run: Run, onDone: (result: Done) => void): Promise<void> {
  const abort = new AbortController();
  const isMine = () => work.peek()?.abort === abort;
  work.value = { verb, done: 0, of: threads.length, abort };
  const result = await eachInOrder(
    threads,
    run,
    (done) => {
      if (isMine()) {
        work.value = { verb, done, of: threads.length, abort };
      }
    },
    abort.signal,
  );
  if (isMine()) {
    try {
      onDone(result);
    } finally {
      work.value = undefined;
    }
  }
}

/** Requests that are sent without a pause. A connection may send 60 in 10 s, and the page sends others. */
const AT_ONCE = 15;
/** Time between further requests, in milliseconds. */
const PAUSE_MS = 350;
/** Time after a request that was one too many, in milliseconds, and how often it is repeated. */
const AGAIN_MS = 2_500;
const REPEATS = 4;

/**
 * Carries out an operation for each thread in order. `onDone` receives the number of threads that are done, and the failure of the
 * last one. An abort ends it before the next thread. Returns the failures, and the threads for which it succeeded.
 */
export async function eachInOrder(
  threads: readonly Subject[],
  run: Run,
  onDone: (done: number, failure?: Failure) => void,
  signal: AbortSignal,
): Promise<Done> {
  const done: Subject[] = [];
  const failures: Failure[] = [];
  for (const [at, thread] of threads.entries()) {
    if (at >= AT_ONCE) {
      await pause(PAUSE_MS, signal);
    }
    if (signal.aborted) {
      break;
    }
    let failure: Failure | undefined;
    try {
      await patiently(run, thread, signal);
      done.push(thread);
    } catch (error) {
      failure = { thread, why: sentence(error) };
      failures.push(failure);
    }
    onDone(at + 1, failure);
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
