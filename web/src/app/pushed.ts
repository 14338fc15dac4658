/**
 * What the page does for pushed notifications, which the service worker shows: shows what they are about, and closes those
 * that are out of date. Loaded only where they are on.
 */

import { computed, effect } from "@preact/signals";

import { type FromPage, QUESTION, type ToPage } from "../worker/messages.ts";
import type { NoticeData } from "../worker/notification.ts";
import { showQuestion } from "./focus.ts";
import { push } from "./notifications.ts";
import { canPush, session } from "./push.ts";
import { go, route } from "./route.ts";
import { open, threads } from "./threads.ts";

/** WebKit withdraws the permission if a push shows no notification, even if the user looks at the page. */
const mustShow = navigator.vendor.startsWith("Apple");

if (canPush) {
  navigator.serviceWorker.addEventListener("message", ({ data, ports }: MessageEvent<ToPage>) => {
    if (session.peek() === undefined) {
      return;
    }
    if (data.type === "asks") {
      const isOpen = open.peek()?.threadId === data.threadId && document.hasFocus();
      ports[0]?.postMessage({ isSeen: isOpen && !mustShow } satisfies FromPage);
    } else if (data.type === "show") {
      const { threadId } = data;
      if (data.question) {
        showQuestion(threadId);
      } else {
        go({ view: "thread", threadId });
      }
    }
  });
  navigator.serviceWorker.startMessages();
}

// The service worker has opened this page for a question.
const first = route.peek();
if (location.hash === QUESTION && first.view === "thread") {
  history.replaceState(history.state, "", location.pathname + location.search);
  showQuestion(first.threadId);
}

/** The waiting threads, other than which none may have a notification that waits for an answer. */
const waitingIds = computed(() => threads.value?.flatMap(({ id, live }) => (live === "waiting" ? [id] : [])).join("\n"));

effect(() => {
  if (waitingIds.value !== undefined && push.value === "on") {
    void closeStale();
  }
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && push.peek() === "on") {
    void closeStale();
  }
});

/** Closes the notifications of questions that were answered elsewhere. */
async function closeStale(): Promise<void> {
  const registration = canPush ? await navigator.serviceWorker.getRegistration() : undefined;
  const shown = (await registration?.getNotifications()) ?? [];
  const live = new Map(threads.peek()?.map((thread) => [thread.id, thread.live]));
  for (const notification of shown) {
    const { waiting, threadId } = (notification.data ?? {}) as NoticeData;
    const now = live.get(threadId ?? "");
    // A thread that this page does not know may wait.
    if (waiting && now !== undefined && now !== "waiting") {
      notification.close();
    }
  }
}
