/**
 * What the user has seen. The daemon keeps it for all devices of the user; this browser stores only the marks that the
 * daemon does not have yet.
 */

import type { Client } from "@acpd/client";
import { computed, effect, signal, untracked } from "@preact/signals";

import { client, online, shared } from "../connection/connection.ts";
import { afterSent, marksOf, mostSeen, type Seen, toSend } from "../state/seen.ts";
import { isRecord, stored } from "../state/stored.ts";

/** Marks that the daemon does not have yet. Earlier versions stored all marks here, so the daemon receives them once. */
const unsent = stored<Record<string, Seen>>("seen", {}, isRecord);
/** When this browser was first here. The daemon uses it for a user whom it does not know. */
const firstVisit = stored<number>("since", 0, (value) => typeof value === "number");
if (firstVisit.peek() === 0) {
  firstVisit.value = Date.now();
}

/** Marks of other devices and pages, since this page was opened. */
const received = signal<Readonly<Record<string, number>>>({});
/** Changes until then count as seen. Until the daemon has answered, nothing is unread. */
export const seenSince = signal(Infinity);

/** The times until which threads have been seen, beyond what the list says. */
export const seen = computed(() => mostSeen(received.value, marksOf(unsent.value)));

/** Marks a thread as seen until its last change. */
export function see(threadId: string, at: number): void {
  if (document.hidden || shared.peek() !== undefined || at <= (seen.peek()[threadId] ?? 0)) {
    return;
  }
  unsent.value = { ...unsent.peek(), [threadId]: { at } };
  const now = client.peek();
  if (now && online.peek()) {
    void send(now);
  }
}

let sending = false;

/** Sends what the daemon does not have. If that fails, the next connection or mark sends it. */
async function send(now: Client): Promise<void> {
  if (sending) {
    return;
  }
  sending = true;
  try {
    let threads = toSend(unsent.peek());
    do {
      const { since } = await now.call("thread/seen/set", { threads, since: firstVisit.peek() });
      seenSince.value = since;
      received.value = mostSeen(received.peek(), threads);
      unsent.value = afterSent(unsent.peek(), threads);
      threads = toSend(unsent.peek());
    } while (threads.length > 0);
  } catch (error) {
    if (now.state.name === "open") {
      console.warn(error);
    }
  } finally {
    sending = false;
  }
}

// Each connection sends what was seen without one.
effect(() => {
  const now = client.value;
  if (now && online.value && shared.value === undefined) {
    untracked(() => void send(now));
  }
});

effect(() =>
  client.value?.on("thread/list/seen", ({ threads }) => {
    received.value = mostSeen(received.peek(), threads);
  }),
);
