/**
 * What the page does for pushed notifications, which the service worker shows: shows what they are about, and closes those
 * that are out of date. Loaded only where they are on.
 */

import { computed, effect } from "@preact/signals";

import { online } from "../connection/connection.ts";
import { type FromPage, QUESTION, type ToPage } from "../worker/messages.ts";
import { isStale, LIST_MS } from "../worker/notification.ts";
import { showQuestion } from "./focus.ts";
import { push } from "./notifications.ts";
import { canPush, closeNotifications, session } from "./push.ts";
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
      // Without a connection, the page does not show what is new.
      const isOpen = online.peek() && open.peek()?.threadId === data.threadId && document.hasFocus();
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

/** The ids of the threads that wait, one a line. */
const waitingIds = computed(() => threads.value?.flatMap(({ id, live }) => (live === "waiting" ? [id] : [])).join("\n"));
let waitedBefore: readonly string[] = [];
let later: ReturnType<typeof setTimeout> | undefined;

effect(() => {
  const ids = waitingIds.value?.split("\n");
  if (ids !== undefined && push.value === "on") {
    const ended = waitedBefore.filter((id) => !ids.includes(id));
    waitedBefore = ids;
    void closeStale(ended);
    // A notification of a thread that this page has not seen wait is judged when the list is surely newer.
    clearTimeout(later);
    later = setTimeout(() => void closeStale([]), LIST_MS);
  }
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && online.peek() && push.peek() === "on") {
    void closeStale([]);
  }
});

/** Closes the notifications of threads that wait no more. `ended` are those that the page has just seen to end. */
function closeStale(ended: readonly string[]): Promise<void> {
  return closeNotifications((data) => {
    const { threadId = "" } = data;
    const thread = threads.peek()?.find(({ id }) => id === threadId);
    return isStale(data, thread?.live, ended.includes(threadId), Date.now());
  });
}
