/** Common steps of tests: start threads from another client, and open them in the page. */

import type { Client, StartThread } from "@acpd/client";
import type { Locator, Page } from "playwright-core";

import type { Stage } from "./browser.ts";

/** Starts a thread as another client; returns its id once the agent is ready. */
export async function startThread(
  stage: Stage,
  other: Client,
  text?: string,
  more: Partial<StartThread> = {},
): Promise<string> {
  const { thread } = await other.call("thread/start", { agentType: "fake", cwd: stage.daemon.work, text, ...more });
  return thread.id;
}

/** Waits until the daemon reports a status of a thread. */
export async function until(other: Client, threadId: string, status: string): Promise<void> {
  const end = Date.now() + 100_000;
  for (;;) {
    const { thread } = await other.call("thread/read", { threadId });
    if (thread.status === status) {
      return;
    }
    if (Date.now() > end) {
      throw new Error(`the thread ${threadId} is ${thread.status}, and not ${status}`);
    }
    // The number of requests in a time is limited.
    await new Promise((next) => setTimeout(next, 400));
  }
}

/** Waits until the form for a new thread is connected, and knows the agents. */
export async function connected(page: Page): Promise<void> {
  await page.locator("#agent option").first().waitFor({ state: "attached" });
}

/** Opens a thread in the page. */
export async function openThread(stage: Stage, page: Page, threadId: string): Promise<void> {
  await page.goto(`${stage.url}/threads/${threadId}`);
  await page.locator(".pane .view-title h1").waitFor();
  await page.locator(".pane-foot, .pane [role=alert]").first().waitFor();
}

/** Sends a prompt in the open thread. */
export async function say(page: Page, text: string): Promise<void> {
  await page.locator(".pane textarea").fill(text);
  await page.locator(".pane textarea").press("Enter");
}

/** Sends a prompt in the open thread, and waits until the page shows that its turn has ended. The daemon's status alone may be that of before. */
export async function sayToEnd(page: Page, text: string): Promise<void> {
  const ended = page.locator(".pane .th-turn-foot");
  const before = await ended.count();
  await say(page, text);
  await ended.nth(before).waitFor({ state: "attached" });
}

/** Returns a thread's row in the list. */
export function row(page: Page, name: string) {
  return page.locator(".side-list .row", { hasText: name });
}

/** Chooses an item of a thread's menu in the list. */
export async function pick(page: Page, name: string, item: string): Promise<void> {
  await row(page, name).hover();
  await row(page, name).locator(".row-menu").click();
  await page.getByRole("menuitem", { name: item }).click();
}

/** Waits until the height and the position of a list are the same in ten successive frames. */
export async function settled(list: Locator): Promise<void> {
  await list.evaluate(
    (el) =>
      new Promise<void>((done) => {
        let [same, last] = [0, ""];
        const look = () => {
          const now = `${el.scrollHeight} ${el.scrollTop}`;
          same = now === last ? same + 1 : 0;
          last = now;
          if (same >= 10) done();
          else requestAnimationFrame(look);
        };
        look();
      }),
  );
}

/** Installs the service worker of a page at once, and waits until it works. The page itself would do it some seconds later. */
export async function startWorker(page: Page): Promise<void> {
  await page.evaluate(async () => {
    await navigator.serviceWorker.register("/worker.js");
  });
  await workerStarted(page);
}

/** Waits until the service worker of a page works. */
export async function workerStarted(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const { active } = await navigator.serviceWorker.ready;
    while (active!.state !== "activated") {
      await new Promise((done) => active!.addEventListener("statechange", done, { once: true }));
    }
  });
}
