/**
 * Keeps the list of threads up to date. This is the one place that knows how: by asking again, as long as the daemon
 * tells nobody of threads that they do not follow.
 */

import type { Client, ThreadSummary } from "@acpd/client";

/** How often the list is asked for while the page is seen, and while it is not, in milliseconds. */
const SEEN_MS = 2_500;
const HIDDEN_MS = 10_000;
/** Threads in the list; older ones are found by searching. */
const LISTED = 200;

export interface Watch {
  /** Something has changed that the list shows: it is asked for soon. */
  soon(): void;
  stop(): void;
}

/** Calls `onList` with the threads that are not archived, now and whenever they may have changed. */
export function watchThreads(client: Client, onList: (threads: ThreadSummary[]) => void): Watch {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stopped = false;
  let asking = false;
  let again = false;

  const ask = async (): Promise<void> => {
    clearTimeout(timer);
    if (asking) {
      again = true;
      return;
    }
    asking = true;
    again = false;
    try {
      const { data } = await client.call("thread/list", { limit: LISTED }, { timeoutMs: 15_000 });
      if (!stopped) {
        onList(data);
      }
    } catch {
      // There is no connection, or too much is asked: the next time it is asked again.
    }
    asking = false;
    if (!stopped) {
      timer = setTimeout(() => void ask(), again ? 250 : document.hidden ? HIDDEN_MS : SEEN_MS);
    }
  };
  const onVisible = () => {
    if (!document.hidden) {
      void ask();
    }
  };
  document.addEventListener("visibilitychange", onVisible);
  const off = client.onState(({ name }) => {
    if (name === "open") {
      void ask();
    }
  });
  void ask();
  return {
    soon: () => {
      clearTimeout(timer);
      timer = setTimeout(() => void ask(), 150);
    },
    stop: () => {
      stopped = true;
      clearTimeout(timer);
      off();
      document.removeEventListener("visibilitychange", onVisible);
    },
  };
}
