/** Layout state: the size of the window in words, and which overlay is open. */

import { type Signal, signal } from "@preact/signals";

/** Whether the window is as narrow as a phone. */
export const narrow = matches("(max-width: 699px)");
/** Whether the window is so low that only what matters most fits. */
export const low = matches("(max-height: 560px)");
/** Whether the window is too narrow or too low for a question next to the conversation. */
export const cramped = matches("(max-width: 699px), (max-height: 560px)");
/** Whether the user's main pointer is a finger, so that a focused field opens a keyboard on the screen. */
export const touch = matches("(pointer: coarse)");

/** Whether the sidebar is open as a drawer over the view. */
export const drawer = signal(false);
narrow.subscribe(() => {
  drawer.value = false;
});
/** The question whose sheet the user has folded, or that a reader of a shared thread has opened. */
export const foldedQuestion = signal<string | undefined>(undefined);
/** The open dialog. */
export const over = signal<"shortcuts" | "settings" | "palette" | undefined>(undefined);

function matches(query: string): Signal<boolean> {
  const list = matchMedia(query);
  const now = signal(list.matches);
  list.addEventListener("change", () => {
    now.value = list.matches;
  });
  return now;
}
