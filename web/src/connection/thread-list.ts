/**
 * Keeps the list of threads current, including threads without a subscription. Loads it once per connection, then
 * applies the daemon's changes. A background page applies them immediately.
 */

import type { Client, ListChanged, ThreadSummary } from "@acpd/client";

import { applyChanges } from "../state/threads.ts";

/** Maximum number of threads in the list; older ones are found by search. */
const LISTED = 200;
/** Minimum time between two updates of a visible list, in milliseconds. Browsers suspend the timers of hidden pages. */
const FRAME_MS = 50;
/** Delay after a failed request, in milliseconds: too many requests, or the daemon is stopping. */
const AGAIN_MS = 2_000;

export interface Watch {
  stop(): void;
}

/** Calls `onList` with the unarchived threads, now and after every change. */
export function watchThreads(client: Client, onList: (threads: readonly ThreadSummary[]) => void): Watch {
  let list: readonly ThreadSummary[] | undefined;
  /** Changes that arrived while the list was being loaded. */
  let early: ListChanged[] | undefined;
  /** Changes since the last call of `onList`. */
  let late: ListChanged[] = [];
  /** Number of the current request: responses to earlier ones are ignored. */
  let round = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let handedAt = -Infinity;

  const hand = () => {
    clearTimeout(timer);
    timer = undefined;
    handedAt = performance.now();
    list = applyChanges(list!, late, LISTED);
    late = [];
    onList(list);
  };
  const ask = async (): Promise<void> => {
    clearTimeout(retry);
    const mine = ++round;
    early = [];
    try {
      await client.call("thread/list/watch");
      const { data } = await client.call("thread/list", { limit: LISTED });
      if (mine === round && early) {
        list = data;
        late = early;
        early = undefined;
        hand();
      }
    } catch {
      // Without a connection, the next connection sends the request.
      if (mine === round && client.state.name === "open") {
        retry = setTimeout(() => void ask(), AGAIN_MS);
      }
    }
  };
  const offs = [
    client.on("thread/list/changed", (change) => {
      early?.push(change);
      if (list === undefined) {
        return;
      }
      late.push(change);
      const wait = FRAME_MS - (performance.now() - handedAt);
      if (document.hidden || wait <= 0) {
        hand();
      } else {
        timer ??= setTimeout(hand, wait);
      }
    }),
    client.on("thread/list/reset", () => void ask()),
    client.onState(({ name }) => {
      if (name === "open") {
        void ask();
      }
    }),
  ];
  if (client.state.name === "open") {
    void ask();
  }
  return {
    stop: () => {
      round++;
      clearTimeout(timer);
      clearTimeout(retry);
      for (const off of offs) {
        off();
      }
    },
  };
}
