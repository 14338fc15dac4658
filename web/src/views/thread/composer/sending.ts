/** The drafts whose message is on its way. A box that is drawn anew meanwhile shows it, and cannot send it again. */

import { signal } from "@preact/signals";

import { onLeave } from "../../../connection/connection.ts";

const names = signal<ReadonlySet<string>>(new Set());

// The requests of the user who signs out have no answer any more.
onLeave(async () => {
  names.value = new Set();
});

/** Returns whether the message of a draft is on its way. Views that call it follow changes. */
export const isSending = (name: string): boolean => names.value.has(name);

/** Sends the message of a draft, which nobody changes on this page until that is done. */
export function whileSending<T>(name: string, send: () => Promise<T>): Promise<T> {
  const sent = send();
  names.value = new Set([...names.peek(), name]);
  const release = () => {
    names.value = new Set([...names.peek()].filter((other) => other !== name));
  };
  sent.then(release, release);
  return sent;
}
