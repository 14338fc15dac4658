/**
 * When the user was away, and where each thread was left. The daemon knows when no page of the user was in front, on any
 * device; the places are stored in the browser.
 */

import type { Absence, Client } from "@acpd/client";
import { computed, effect, signal, untracked } from "@preact/signals";

import { client, online, shared } from "../connection/connection.ts";
import { changedBetween, type Left, LEFT_MS } from "../state/away.ts";
import { isRecord, stored } from "../state/stored.ts";
import { now } from "./clock.ts";
import { seenUntilOf, threads, waiting } from "./threads.ts";

/** Maximum number of threads whose place is stored; the oldest are dropped. */
const PLACES = 200;

const places = stored<Record<string, Left>>("left", {}, isRecord);

/** The user's last absence, unless it has been dismissed. */
export const away = signal<Absence | undefined>(undefined);
/** The threads that waited for the user when the user came back; `undefined` until the list is loaded. */
const waitedThen = signal<ReadonlySet<string> | undefined>(undefined);

/** Reports that the user looks at this page, or did until now. */
async function report(to: Client): Promise<void> {
  try {
    const { away: absence } = await to.call("user/present");
    if (absence != null) {
      waitedThen.value = undefined;
      away.value = absence;
    }
  } catch (error) {
    // Without a connection, the next one reports.
    if (to.state.name === "open") {
      console.warn(error);
    }
  }
}

// When the page comes to the front or connects, and each half minute. A report after a pause, such as the sleep of the host, is
// late: the daemon takes it for an arrival.
effect(() => {
  void now.value;
  const to = client.value;
  if (to && online.value && shared.value === undefined && !document.hidden) {
    untracked(() => void report(to));
  }
});
document.addEventListener("visibilitychange", () => {
  const to = client.peek();
  if (document.hidden && to && online.peek() && shared.peek() === undefined) {
    void report(to);
  }
});

// What begins to wait later does so before the user's eyes.
effect(() => {
  if (away.value && threads.value && untracked(() => waitedThen.value) === undefined) {
    waitedThen.value = new Set(untracked(() => waiting.value).map(({ id }) => id));
  }
});

/** The threads that changed while the user was away and that the user has not opened since; waiting ones first. */
export const awayThreads = computed(() =>
  away.value === undefined || threads.value === undefined ? [] : changedBetween(threads.value, away.value, waitedThen.value ?? new Set()),
);

/** Returns where a thread was left, if that was a while ago. What another device has shown since does not count. */
export function leftPlace(threadId: string): Left | undefined {
  const left = places.peek()[threadId];
  if (!left || Date.now() - left.at < LEFT_MS) {
    return undefined;
  }
  const seenAt = seenUntilOf(threadId) ?? 0;
  return Number.isFinite(seenAt) && seenAt > left.at ? { at: seenAt } : left;
}

/** Stores where the user leaves a thread. */
export function leavePlace(threadId: string, place: Omit<Left, "at">): void {
  const left = { at: Date.now(), ...place };
  const { [threadId]: _, ...others } = places.peek();
  places.value = Object.fromEntries([...Object.entries(others), [threadId, left]].slice(-PLACES));
}
