/** Leads through all threads that wait for the user, and says where the focus belongs after an answer. */

import { effect } from "@preact/signals";

import { leftOf, nextStep, type Shown, type Waits } from "../state/waiting-walk.ts";
import { focusThread, focusWhenThere, questionOf, showQuestion } from "./focus.ts";
import { announce } from "./live-region.ts";
import { route } from "./route.ts";
import { waiting } from "./threads.ts";

let shown: Shown = new Set();
/** The open thread, if the walk has led to it. */
let ledTo: string | undefined;
effect(() => {
  const now = route.value;
  if (now.view !== "thread" || now.threadId !== ledTo) {
    ledTo = undefined;
  }
});
/** Time in which a question that follows an answer takes the focus, in milliseconds. */
const FOLLOW_UP_MS = 2_000;
/** Questions that this page has answered, and that the list may not know of yet. */
const answered = new Set<string>();

/** Opens the thread that has waited longest of those that this round has not shown, and focuses its question. */
export function showWaiting(): void {
  const step = nextStep(waits(), shown, openThread());
  ({ shown } = step);
  ledTo = step.threadId;
  if (step.threadId === undefined) {
    announce("No thread is waiting for you");
    return;
  }
  showQuestion(step.threadId);
}

/** Notes an answer of this page, so that the walk does not lead to a question that is about to leave the list; or that it failed. */
export function noteAnswer(requestId: string, isAnswered = true): void {
  answered[isAnswered ? "add" : "delete"](requestId);
}

/**
 * Moves the focus on after an answer, unless the user has moved it: to the next question of the thread, also to one that
 * follows at once. Otherwise, a walk leaves the focus where its key works while there is more to show.
 */
export function goOnAfterAnswer(threadId: string, byKeys = false): void {
  const left = ledTo === threadId ? leftOf(waits(), shown, threadId) : 0;
  if (document.activeElement !== document.body) {
    return;
  }
  focusWhenThere(questionOf(threadId), FOLLOW_UP_MS);
  if (document.activeElement !== document.body) {
    return;
  }
  if (left > 0) {
    announce(left === 1 ? "1 more thread is waiting. Press w." : `${left} more threads are waiting. Press w.`);
  }
  focusThread(threadId, left > 0 ? "conversation" : "composer", byKeys);
}

function waits(): Waits[] {
  const listed = waiting.peek();
  const ids = new Set(listed.map(({ question }) => question?.requestId));
  for (const requestId of answered) {
    if (!ids.has(requestId)) {
      answered.delete(requestId);
    }
  }
  return listed
    .filter(({ question }) => question == null || !answered.has(question.requestId))
    .map(({ id, question, updatedAt }) => ({ threadId: id, requestId: question?.requestId, since: question?.askedAt ?? updatedAt }));
}

function openThread(): string | undefined {
  const now = route.peek();
  return now.view === "thread" ? now.threadId : undefined;
}
