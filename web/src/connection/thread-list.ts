/**
 * Keeps the list of threads up to date, also for threads that are not followed: asks for it once for each connection, and
 * takes in what the daemon tells from then on. A page in the background hears at once.
 */

import type { Client, ListChanged, ThreadSummary } from "@acpd/client";

import { applyChanges } from "../state/threads.ts";

/** Threads in the list; older ones are found by searching. */
const LISTED = 200;
/** The list is handed on at most this often while it is seen, in milliseconds. Timers of hidden pages stand still. */
const FRAME_MS = 50;
/** How long to wait after the list was refused: too much was asked, or the daemon ends. In milliseconds. */
const AGAIN_MS = 2_000;

export interface Watch {
  stop(): void;
}

/** Calls `onList` with the threads that are not archived, now and whenever they change. */
export function watchThreads(client: Client, onList: (threads: readonly ThreadSummary[]) => void): Watch {
  let list: readonly ThreadSummary[] | undefined;
  /** What came while the list was on its way. */
  let early: ListChanged[] | undefined;
  /** What came since the list was last handed on. */
  let late: ListChanged[] = [];
  /** Which time of asking it is: the answers to earlier ones are not looked at. */
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
      // Without a connection the next one asks.
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
