/** Calls the person when a thread waits: in the tab's title, to screen readers, and as a notification if that is allowed. */

import { effect, signal, untracked } from "@preact/signals";

import { stored } from "../state/stored.ts";
import { nameOf, tabTitle } from "../state/threads.ts";
import { announce } from "./live-region.ts";
import { go, route } from "./route.ts";
import { open, threads, waiting } from "./threads.ts";

type Permission = "default" | "granted" | "denied" | "none" | "insecure";

const has = typeof Notification !== "undefined";
/** What the browser's person has said. */
export const permission = signal<Permission>(!isSecureContext ? "insecure" : has ? Notification.permission : "none");
/** Whether notifications are wanted; they come only if the browser allows them as well. */
export const wanted = stored<boolean>("notify", false, (value) => typeof value === "boolean");

/** Asks for notifications; on a click only, as browsers want it. */
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
    // What waits already when the page comes is in the title and the list; it is no event.
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
    // Some browsers let only service workers notify.
  }
}
