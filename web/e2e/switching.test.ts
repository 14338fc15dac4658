/** From thread to thread and back: a thread that was left is shown at once, and then as it is now. */

import type { Client } from "@acpd/client";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { row, startThread, until } from "./support/acts.ts";
import { Stage } from "./support/browser.ts";

let stage: Stage;
let other: Client;

beforeAll(async () => {
  stage = await Stage.set();
  other = await stage.daemon.client("other-program");
});
afterAll(() => stage?.end());

/** Opens a page that sends each `thread/resume` after an event only once it may. */
async function pageThatHolds(): Promise<{ page: Page; hold: () => void; release: () => void; held: () => number }> {
  const page = await stage.page();
  let isHeld = false;
  let waiting: (() => void)[] = [];
  await page.routeWebSocket(/\/ws/, (socket) => {
    const server = socket.connectToServer();
    socket.onMessage((message) => {
      const text = String(message);
      if (isHeld && text.includes('"thread/resume"') && text.includes('"after"')) {
        waiting.push(() => server.send(message));
      } else {
        server.send(message);
      }
    });
  });
  await page.reload();
  return {
    page,
    hold: () => {
      isHeld = true;
    },
    release: () => {
      isHeld = false;
      waiting.forEach((send) => send());
      waiting = [];
    },
    held: () => waiting.length,
  };
}

async function openByRow(page: Page, name: string, text: string): Promise<void> {
  await row(page, name).locator(".row-link").click();
  await page.locator(".pane h1", { hasText: name }).waitFor();
  await page.locator(".pane .virtual-line", { hasText: text }).first().waitFor();
}

const texts = async (page: Page, text: string) => (await page.locator(".pane .th-agent").allInnerTexts()).filter((words) => words.includes(text)).length;

test("it needs no response to be shown, and gets what happened meanwhile once", async () => {
  const one = await startThread(stage, other, "say begins", { name: "Alder" });
  const two = await startThread(stage, other, "say elsewhere", { name: "Birch" });
  await Promise.all([until(other, one, "idle"), until(other, two, "idle")]);
  const { page, hold, release, held } = await pageThatHolds();
  await openByRow(page, "Alder", "begins");
  await openByRow(page, "Birch", "elsewhere");
  for (const text of ["say meanwhile", "say twice"]) {
    await other.call("turn/start", { threadId: one, text });
    await until(other, one, "idle");
  }
  const unread = row(page, "Alder").locator(".row-unread");
  await expect.poll(() => unread.count()).toBe(1);
  hold();
  await openByRow(page, "Alder", "begins");
  await expect.poll(held).toBe(1);
  expect(await texts(page, "meanwhile")).toBe(0);
  release();
  await expect.poll(() => texts(page, "meanwhile")).toBe(1);
  await expect.poll(() => texts(page, "twice")).toBe(1);
  expect(await texts(page, "begins")).toBe(1);
  await expect.poll(() => unread.count()).toBe(0);
  await page.context().close();
});

test("a question that was answered meanwhile is gone, and one that is open can be answered once", async () => {
  const script = "permission kind=execute command='make one'; say between; permission kind=execute command='make two'; say finished";
  const asks = await startThread(stage, other, script, { name: "Cedar" });
  const rest = await startThread(stage, other, "say elsewhere", { name: "Dogwood" });
  await Promise.all([until(other, asks, "waiting"), until(other, rest, "idle")]);
  const page = await stage.page();
  const question = page.locator(".pane [data-question]");
  await row(page, "Cedar").locator(".row-link").click();
  await expect.poll(() => question.allInnerTexts()).toEqual([expect.stringContaining("make one")]);
  await openByRow(page, "Dogwood", "elsewhere");
  // The same question, once.
  await row(page, "Cedar").locator(".row-link").click();
  await expect.poll(() => question.allInnerTexts()).toEqual([expect.stringContaining("make one")]);
  await openByRow(page, "Dogwood", "elsewhere");
  const { thread } = await other.call("thread/read", { threadId: asks });
  await other.call("item/approve", { requestId: thread.pendingRequestIds[0]!, approved: true });
  const pending = async () => (await other.call("thread/read", { threadId: asks })).thread.pendingRequestIds;
  // The number of requests in a time is limited.
  await expect.poll(pending, { interval: 400 }).not.toEqual(thread.pendingRequestIds);
  await until(other, asks, "waiting");
  await row(page, "Cedar").locator(".row-link").click();
  await expect.poll(() => question.allInnerTexts()).toEqual([expect.stringContaining("make two")]);
  await page.locator(".pane-foot").getByRole("button", { name: "Allow once", exact: true }).click();
  await page.locator(".pane .virtual-line", { hasText: "finished" }).first().waitFor();
  await expect.poll(() => question.count()).toBe(0);
  await page.context().close();
});

test("after signing out, the next user sees nothing of the threads before", async () => {
  const id = await startThread(stage, other, "say secret", { name: "Elm" });
  const next = await startThread(stage, other, "say nothing", { name: "Fir" });
  await Promise.all([until(other, id, "idle"), until(other, next, "idle")]);
  const page = await stage.page();
  await openByRow(page, "Elm", "secret");
  await openByRow(page, "Fir", "nothing");
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByRole("dialog").getByRole("button", { name: /Sign out/ }).click();
  await page.locator("#token").fill(await stage.daemon.token());
  await page.locator("#token").press("Enter");
  await row(page, "Elm").waitFor();
  // The thread is loaded from the daemon again.
  await page.evaluate(() => {
    const { send } = WebSocket.prototype;
    const log: string[] = ((window as unknown as { sent: string[] }).sent = []);
    WebSocket.prototype.send = function (data) {
      log.push(String(data));
      send.call(this, data);
    };
  });
  await openByRow(page, "Elm", "secret");
  const sent = await page.evaluate(() => (window as unknown as { sent: string[] }).sent);
  const resumes = sent.filter((frame) => frame.includes('"thread/resume"') && frame.includes(id));
  expect(resumes).toHaveLength(1);
  expect(resumes[0]).not.toContain('"after"');
  await page.context().close();
});
