/** Notifies the user when a thread waits: in the tab's title, to screen readers, and as a notification if allowed. */

import { effect, signal, untracked } from "@preact/signals";

import { stored } from "../state/stored.ts";
import { nameOf, tabTitle } from "../state/threads.ts";
import { announce } from "./live-region.ts";
import { go, route } from "./route.ts";
import { open, threads, waiting } from "./threads.ts";

type Permission = "default" | "granted" | "denied" | "none" | "insecure";

const has = typeof Notification !== "undefined";
/** The browser's notification permission. */
export const permission = signal<Permission>(!isSecureContext ? "insecure" : has ? Notification.permission : "none");
/** Whether the user has enabled notifications; the browser's permission is required too. */
export const wanted = stored<boolean>("notify", false, (value) => typeof value === "boolean");

/** Requests permission for notifications. Browsers require that a click triggers it. */
export async function askForNotifications(): Promise<void> {
  if (has && isSecureContext) {
    permission.value = await Notification.requestPermission();
    wanted.value = permission.value === "granted";
  }
}

effect(() => {
  const to = route.value;
  const titles = { home: "New thread", agents: "Agents", policy: "Policy", archive: "Archive", thread: "Thread" };
  const thread = to.view === "thread" ? open.value?.shown.value?.thread : undefined;
  document.title = tabTitle(waiting.value.length, thread ? nameOf(thread.head) : titles[to.view]);
});

let known: ReadonlySet<string> | undefined;

effect(() => {
  if (threads.value === undefined) {
    known = undefined;
    return;
  }
  const now = waiting.value;
  untracked(() => {
    // Threads that already wait when the page opens are in the title and the list; they cause no notification.
    for (const thread of known ? now.filter(({ id }) => !known?.has(id)) : []) {
      const name = nameOf(thread);
      const here = open.peek()?.threadId === thread.id && document.hasFocus();
      announce(`${name} is waiting for approval`);
      if (!here && wanted.peek() && permission.peek() === "granted") {
        notify(thread.id, name, thread.agentType);
      }
    }
    known = new Set(now.map(({ id }) => id));
  });
});

function notify(threadId: string, name: string, agent: string): void {
  try {
    const note = new Notification(`${name} is waiting for approval`, { body: `${agent} requests approval.`, tag: threadId });
    note.onclick = () => {
      window.focus();
      go({ view: "thread", threadId });
      note.close();
    };
  } catch {
    // Some browsers allow notifications only from service workers.
  }
}
