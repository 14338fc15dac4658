import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { touch } from "../../src/app/layout.ts";
import { go } from "../../src/app/route.ts";
import * as threads from "../../src/app/threads.ts";
import { goOnAfterAnswer, noteAnswer, showWaiting } from "../../src/app/waiting-walk.ts";
import type { Listed } from "../../src/state/threads.ts";

const waits = (id: string, askedAt: number) =>
  ({ id, live: "waiting", updatedAt: 0, question: { requestId: `${id}1`, type: "permission", title: "", more: 0, askedAt } }) as unknown as Listed;

let listed: Listed[];
beforeEach(() => {
  listed = [waits("c", 3), waits("a", 1), waits("b", 2)];
  vi.spyOn(threads.waiting, "peek").mockImplementation(() => listed);
  go({ view: "home" });
});
afterEach(() => {
  vi.restoreAllMocks();
  document.body.replaceChildren();
});

/** Renders the pane of a thread, with what can have the focus there. */
function pane(threadId: string, { question = true } = {}): void {
  document.body.innerHTML = `<div class="pane" data-thread="${threadId}">
    <div role="feed" tabindex="0"></div>${question ? '<section data-question tabindex="-1"></section>' : ""}
    <textarea class="th-composer-area"></textarea></div>`;
}
const at = () => location.pathname.split("/").at(-1);
const focused = () => document.activeElement?.className || document.activeElement?.getAttribute("role") || document.activeElement?.tagName;

test("the walk leads to the oldest questions first, and leaves out what this page has just answered", () => {
  showWaiting();
  expect(at()).toBe("a");
  noteAnswer("a1");
  noteAnswer("b1");
  showWaiting();
  expect(at()).toBe("c");
  // An answer that failed is to be given again.
  noteAnswer("b1", false);
  showWaiting();
  expect(at()).toBe("b");
  listed = [];
  showWaiting();
  expect(at()).toBe("b");
});

test("after an answer the next question has the focus, then the place where the walk goes on, else the composer", () => {
  showWaiting();
  pane("a");
  goOnAfterAnswer("a");
  expect(document.activeElement?.hasAttribute("data-question")).toBe(true);
  pane("a", { question: false });
  goOnAfterAnswer("a");
  expect(focused()).toBe("feed");
  // Nothing else waits.
  listed = listed.filter(({ id }) => id === "a");
  pane("a", { question: false });
  goOnAfterAnswer("a");
  expect(focused()).toBe("th-composer-area");
});

test("a user who has come another way goes on writing, and one who has moved the focus keeps it", () => {
  showWaiting();
  go({ view: "thread", threadId: "b" });
  go({ view: "thread", threadId: "a" });
  pane("a", { question: false });
  goOnAfterAnswer("a");
  expect(focused()).toBe("th-composer-area");
  document.querySelector<HTMLElement>("[role=feed]")!.focus();
  goOnAfterAnswer("a");
  expect(focused()).toBe("feed");
});

test("who has no composer, such as an approver, reads on in the conversation", () => {
  go({ view: "thread", threadId: "a" });
  pane("a", { question: false });
  document.querySelector("textarea")!.remove();
  goOnAfterAnswer("a", true);
  expect(focused()).toBe("feed");
});

test("on a touch device no keyboard opens, unless the user has answered with one", () => {
  touch.value = true;
  pane("a", { question: false });
  goOnAfterAnswer("a");
  expect(focused()).toBe("feed");
  pane("a", { question: false });
  goOnAfterAnswer("a", true);
  expect(focused()).toBe("th-composer-area");
  touch.value = false;
});

test("a question that follows an answer at once takes the focus, unless the user writes already", async () => {
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const ask = () => document.querySelector(".pane")!.insertAdjacentHTML("beforeend", '<section data-question tabindex="-1"></section>');
  pane("a", { question: false });
  goOnAfterAnswer("a");
  await frame();
  ask();
  await vi.waitFor(() => expect(document.activeElement?.hasAttribute("data-question")).toBe(true));
  pane("a", { question: false });
  goOnAfterAnswer("a");
  await frame();
  document.activeElement!.dispatchEvent(new KeyboardEvent("keydown", { key: "n", bubbles: true }));
  ask();
  await frame();
  expect(focused()).toBe("th-composer-area");
});
