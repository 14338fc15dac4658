/** Short messages at the edge of the window, some with a button. Screen readers announce them. */

import { signal } from "@preact/signals";

import { onLeave } from "../connection/connection.ts";

export interface Toast {
  readonly id: number;
  readonly text: string;
  readonly kind: "info" | "error";
  readonly action?: { readonly label: string; readonly run: () => void };
}

/** Time for which a message is visible, in milliseconds. */
const STANDS_MS = 6_000;

export const toasts = signal<readonly Toast[]>([]);
let last = 0;

// They name threads, and can bring back messages.
onLeave(async () => {
  toasts.value = [];
});

export function toast(
  text: string,
  { kind = "info", action, ms = kind === "error" ? 2 * STANDS_MS : STANDS_MS }: Partial<Toast> & { ms?: number } = {},
): () => void {
  const id = ++last;
  const close = () => {
    toasts.value = toasts.value.filter((one) => one.id !== id);
  };
  toasts.value = [...toasts.value.slice(-2), { id, text, kind, action }];
  setTimeout(close, ms);
  return close;
}
