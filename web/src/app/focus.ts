/** Moves the focus, also to elements that appear later. */

import { foldedQuestion, touch } from "./layout.ts";
import { go } from "./route.ts";

/** Time for the element to appear, in milliseconds. */
const PATIENCE_MS = 5_000;

let stop: (() => void) | undefined;

/**
 * Focuses the first element that a selector matches, now or when it appears. The user's next key or press ends the
 * waiting.
 */
export function focusWhenThere(selector: string, patienceMs = PATIENCE_MS): void {
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
  const timer = setTimeout(() => end(), patienceMs);
  const end = () => {
    observer.disconnect();
    clearTimeout(timer);
    cancelAnimationFrame(frame);
    removeEventListener("keydown", end, true);
    removeEventListener("pointerdown", end, true);
    removeEventListener("input", end, true);
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
    // Dictation and the like press no key.
    addEventListener("input", end, true);
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
  focusWhenThere(questionOf(threadId));
}

/** Opens a thread that the user has just started, and focuses its composer once that is there, so that one types on. */
export function showStarted(threadId: string): void {
  go({ view: "thread", threadId });
  // It would open the keyboard of a touch device over the conversation.
  if (!touch.peek()) {
    focusWhenThere(composerOf(threadId));
  }
}

/** Returns the selector of a thread's first question. */
export function questionOf(threadId: string): string {
  return `${paneOf(threadId)} [data-question]`;
}

/**
 * Focuses the composer or the conversation of a thread, if it is open. Not every user has a composer, and that of a touch
 * device would open a keyboard over the conversation, unless the user has one (`byKeys`).
 */
export function focusThread(threadId: string, part: "composer" | "conversation", byKeys = false): void {
  const pane = document.querySelector(paneOf(threadId));
  const composer = part === "composer" && (byKeys || !touch.peek()) ? pane?.querySelector<HTMLElement>(".th-composer-area") : undefined;
  (composer ?? pane?.querySelector<HTMLElement>("[role=feed]"))?.focus({ preventScroll: true });
}

function composerOf(threadId: string): string {
  return `${paneOf(threadId)} .th-composer-area`;
}

function paneOf(threadId: string): string {
  return `.pane[data-thread="${CSS.escape(threadId)}"]`;
}
