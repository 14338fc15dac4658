/**
 * Notifies the user when a thread waits or is done: in the tab's title, to screen readers, and as notifications if
 * allowed. The notifications come from the service worker instead while this device receives pushed ones.
 */

import { effect, signal, untracked } from "@preact/signals";

import { onLeave, sentence, shared, standing, startsThreads } from "../connection/connection.ts";
import { noticeOf } from "../state/notice.ts";
import { stored } from "../state/stored.ts";
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

/** Whether the user wants pushed notifications on this device; `ended` if the push service has ended them. */
export const push = stored<"off" | "on" | "ended">("push", "off", (value) => ["off", "on", "ended"].includes(value as string));
/** Why there are no pushed notifications although the user wants them. */
export const pushProblem = signal<string | undefined>(undefined);

const isPushed = () => push.peek() === "on" && pushProblem.peek() === undefined;

effect(() => {
  if (push.value === "on" && standing.value.name === "in" && shared.value === undefined) {
    // The daemon is unreachable, or has been updated and has other files.
    import("./pushed.ts").catch((error: unknown) => (pushProblem.value = `Couldn’t load a part of acpd. Reload the page. (${sentence(error)})`));
  }
});

onLeave(async () => {
  if (push.peek() !== "off") {
    await (await import("./push.ts")).signedOut();
  }
});

/** Enables a kind of notifications. Requests the browser's permission, for which browsers require a click. */
export async function askForNotifications(kind: typeof wanted): Promise<void> {
  if (has && isSecureContext) {
    permission.value = await Notification.requestPermission();
    kind.value = permission.value === "granted";
  }
}

effect(() => {
  const to = route.value;
  const titles = { home: startsThreads.value ? "New thread" : "Threads", agents: "Agents", policy: "Policy", usage: "Usage", archive: "Archive", thread: "Thread" };
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
  const { id, live, lastTurnStatus, lastTurnCutOff } = thread;
  const here = open.peek()?.threadId === id && document.hasFocus();
  const news = { ...thread, agent: titleOfAgent(thread.agentType), status: lastTurnStatus };
  if (live === "waiting") {
    const { title, body } = noticeOf({ ...news, type: "waiting" });
    announce(title);
    if (!here && wanted.peek()) {
      notify(id, title, body, () => showQuestion(id));
    }
  } else if (before === "running" || before === "waiting") {
    const isUsers = lastTurnStatus === "interrupted" && !lastTurnCutOff;
    if (!here && wantedDone.peek() && live !== "running" && !isUsers) {
      const failed = live === "failed" || endOf(thread) !== undefined;
      const { title, body } = noticeOf({ ...news, type: failed ? "failed" : "done" });
      notify(id, title, body);
    }
  }
}

function notify(threadId: string, title: string, body: string, open = () => go({ view: "thread", threadId })): void {
  if (permission.peek() !== "granted" || isPushed()) {
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
