/** Moves the focus, also to elements that appear later. */

import { foldedQuestion } from "./layout.ts";
import { go } from "./route.ts";

/** Time for the element to appear, in milliseconds. */
const PATIENCE_MS = 5_000;

let stop: (() => void) | undefined;

/**
 * Focuses the first element that a selector matches, now or when it appears. The user's next key or press ends the
 * waiting.
 */
export function focusWhenThere(selector: string): void {
  stop?.();
  const look = (): boolean => {
    const found = document.querySelector<HTMLElement>(selector);
    found?.focus();
    return found !== null;
  };
  // At once if possible: the user's next key belongs there.
  if (look() && document.activeElement?.matches(selector)) {
    return;
  }
  const observer = new MutationObserver(() => look() && end());
  const timer = setTimeout(() => end(), PATIENCE_MS);
  const end = () => {
    observer.disconnect();
    clearTimeout(timer);
    cancelAnimationFrame(frame);
    removeEventListener("keydown", end, true);
    removeEventListener("pointerdown", end, true);
    stop = undefined;
  };
  // After the rendering, which may only then make it able to take the focus.
  const frame = requestAnimationFrame(() => {
    if (look()) {
      end();
      return;
    }
    observer.observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-question"] });
    addEventListener("keydown", end, true);
    addEventListener("pointerdown", end, true);
  });
  stop = end;
}

/** Returns whether the user is typing or in an overlay, so that the focus must stay where it is. */
export function isFocusTaken(): boolean {
  return document.activeElement?.closest("input, textarea, select, dialog, [role=menu], [contenteditable]") != null;
}

/** Opens a thread, and focuses its question. */
export function showQuestion(threadId: string): void {
  go({ view: "thread", threadId });
  foldedQuestion.value = undefined;
  focusWhenThere(`.pane[data-thread="${CSS.escape(threadId)}"] [data-question]`);
}
