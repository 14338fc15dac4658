/**
 * Notifies the user when a thread waits or is done: in the tab's title, to screen readers, and as notifications if
 * allowed.
 */

import { effect, signal, untracked } from "@preact/signals";

import { stored } from "../state/stored.ts";
import { questionLine } from "../state/waiting-question.ts";
import { endOf, type Listed, nameOf, tabTitle, type ThreadActivity } from "../state/threads.ts";
import { titleOfAgent } from "./agents.ts";
import { showQuestion } from "./focus.ts";
import { announce } from "./live-region.ts";
import { go, route } from "./route.ts";
import { open, threads, waiting } from "./threads.ts";

type Permission = "default" | "granted" | "denied" | "none" | "insecure";

const has = typeof Notification !== "undefined";
/** The browser's notification permission. */
export const permission = signal<Permission>(!isSecureContext ? "insecure" : has ? Notification.permission : "none");
/** Whether the user wants notifications about waiting threads; the browser's permission is required too. */
export const wanted = stored<boolean>("notify", false, (value) => typeof value === "boolean");
/** Whether the user wants notifications about finished turns. */
export const wantedDone = stored<boolean>("notify-done", false, (value) => typeof value === "boolean");

/** Enables a kind of notifications. Requests the browser's permission, for which browsers require a click. */
export async function askForNotifications(kind: typeof wanted): Promise<void> {
  if (has && isSecureContext) {
    permission.value = await Notification.requestPermission();
    kind.value = permission.value === "granted";
  }
}

effect(() => {
  const to = route.value;
  const titles = { home: "New thread", agents: "Agents", policy: "Policy", archive: "Archive", thread: "Thread" };
  const thread = to.view === "thread" ? open.value?.shown.value?.thread : undefined;
  document.title = tabTitle(waiting.value.length, thread ? nameOf(thread.head) : titles[to.view]);
});

let known: ReadonlyMap<string, ThreadActivity> | undefined;

effect(() => {
  const list = threads.value;
  untracked(() => {
    // Threads that already wait when the page opens are in the title and the list; they cause no notification.
    for (const thread of known ? (list ?? []) : []) {
      const before = known!.get(thread.id);
      if (thread.live !== before) {
        changed(thread, before);
      }
    }
    known = list && new Map(list.map(({ id, live }) => [id, live]));
  });
});

function changed(thread: Listed, before: ThreadActivity | undefined): void {
  const name = nameOf(thread);
  const here = open.peek()?.threadId === thread.id && document.hasFocus();
  if (thread.live === "waiting") {
    announce(`${name} is waiting for approval`);
    if (!here && wanted.peek()) {
      const { question, cwd } = thread;
      const wish = question ? questionLine(question, cwd) : `${titleOfAgent(thread.agentType)} requests approval.`;
      notify(thread.id, `${name} is waiting for approval`, wish, () => showQuestion(thread.id));
    }
  } else if (before === "running" || before === "waiting") {
    const failed = thread.live === "failed";
    if (!here && wantedDone.peek() && thread.live !== "running" && thread.lastTurnStatus !== "interrupted") {
      notify(thread.id, failed ? `${name} has failed` : `${name} is done`, endOf(thread) ?? `${titleOfAgent(thread.agentType)} has finished.`);
    }
  }
}

function notify(threadId: string, title: string, body: string, open = () => go({ view: "thread", threadId })): void {
  if (permission.peek() !== "granted") {
    return;
  }
  try {
    const note = new Notification(title, { body, tag: threadId });
    note.onclick = () => {
      window.focus();
      open();
      note.close();
    };
  } catch {
    // Some browsers allow notifications only from service workers.
  }
}
