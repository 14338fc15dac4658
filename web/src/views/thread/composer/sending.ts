/** The drafts whose message is on its way. A box that is drawn anew meanwhile shows it, and cannot send it again. */

import { signal } from "@preact/signals";

import { onLeave } from "../../../connection/connection.ts";

/** The messages by their drafts. Each has a token: after the user has signed out, the next one may send a draft of the same name. */
const messages = signal<ReadonlyMap<string, symbol>>(new Map());

// The requests of the user who signs out have no answer any more.
onLeave(async () => {
  messages.value = new Map();
});

/** Returns whether the message of a draft is on its way. Views that call it follow changes. */
export const isSending = (name: string): boolean => messages.value.has(name);

/** Sends the message of a draft, which nobody changes on this page until that is done. */
export function whileSending<T>(name: string, send: () => Promise<T>): Promise<T> {
  const sent = send();
  const token = Symbol(name);
  messages.value = new Map([...messages.peek(), [name, token]]);
  const release = () => {
    messages.value = new Map([...messages.peek()].filter(([, other]) => other !== token));
  };
  sent.then(release, release);
  return sent;
}
