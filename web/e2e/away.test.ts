/** What happened while the user was away: a card on the home page, and a line in the thread. */

import type { Client } from "@acpd/client";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { openThread, startThread, until } from "./support/acts.ts";
import { cameBack } from "./support/away.ts";
import { accessible, PHONE, shoot, Stage } from "./support/browser.ts";

let stage: Stage;
let other: Client;

beforeAll(async () => {
  stage = await Stage.set();
  other = await stage.daemon.client("other-program");
});
afterAll(() => stage?.end());

async function turn(threadId: string, text: string): Promise<void> {
  await other.call("turn/start", { threadId, text });
  await until(other, threadId, "idle");
}

/** Runs a turn with a question, which the other client allows. */
async function allowed(threadId: string, text: string): Promise<void> {
  await other.call("turn/start", { threadId, text });
  await until(other, threadId, "waiting");
  const { thread } = await other.call("thread/read", { threadId });
  await other.call("item/approve", { requestId: thread.pendingRequestIds[0]!, approved: true });
  await until(other, threadId, "idle");
}

/** Closes the page; returns another one of the same browser, as of a new tab. */
async function newTab(page: Page): Promise<Page> {
  const context = page.context();
  // Playwright does not wait for a page whose handlers run.
  await Promise.all([page.waitForEvent("close"), page.close({ runBeforeUnload: true })]);
  const next = await context.newPage();
  next.setDefaultTimeout(15_000);
  next.on("pageerror", (error) => stage.wrongs.push(`failed: ${error.stack ?? error.message}`));
  return next;
}

/** Opens the home page as the user does who was away since then, ten minutes by the page's clock. */
async function comeBack(page: Page, since: number): Promise<void> {
  await cameBack(page, since);
  await page.addInitScript(() => {
    const now = Date.now;
    Date.now = () => now() + 600_000;
  });
  await page.goto(stage.url);
}

const calls = (page: Page) => {
  const sent: string[] = [];
  page.on("websocket", (socket) => socket.on("framesent", ({ payload }) => sent.push(String(payload))));
  return () => sent.filter((frame) => frame.includes('"thread/read"') && frame.includes("includeTurns")).length;
};

for (const [name, size] of Object.entries({ desktop: undefined, phone: PHONE })) {
  test(`a returning user learns what happened, at home and in the thread: ${name}`, async () => {
    const work = await startThread(stage, other, "say Hello", { name: `Work ${name}` });
    await until(other, work, "idle");
    const page = await stage.page(size && { size });
    await openThread(stage, page, work);
    await page.locator(".virtual-line", { hasText: "Hello" }).first().waitFor();
    // A first visit has missed nothing.
    await expect.poll(() => page.locator(".th-away, .away").count()).toBe(0);
    const left = Date.now();
    const next = await newTab(page);
    await allowed(work, "terminal echo hi; permission kind=execute command=make; say Finished");
    await startThread(stage, other, "error message=broken", { name: `Broken ${name}` }).then((id) => until(other, id, "idle"));
    const asks = await startThread(stage, other, "permission kind=execute command='make asks'", { name: `Asks ${name}` });
    await until(other, asks, "waiting");
    const reads = calls(next);
    await comeBack(next, left);
    const card = next.locator(".away");
    await expect.poll(() => card.locator("summary p").first().innerText()).toBe("1 waits for you · 1 failed · 1 done");
    // Nothing is read before the user asks for it.
    expect(reads()).toBe(0);
    await card.locator("summary").focus();
    await next.keyboard.press("Enter");
    await expect.poll(() => card.locator(".away-entry", { hasText: `Work ${name}` }).innerText()).toContain("1 turn done · ran 2 commands · allowed 1 by owner (other-program)");
    await expect.poll(() => card.locator(".away-entry", { hasText: `Asks ${name}` }).innerText()).toMatch(/Run make asks\s*$/);
    await shoot(next, `away-home-${name}`);
    await accessible(next);
    await card.getByText(`Work ${name}`).click();
    const line = next.locator(".th-away");
    await line.waitFor();
    await expect.poll(() => line.innerText()).toContain("allowed 1 by owner (other-program)");
    const order = await next.locator(".virtual-line").allInnerTexts();
    const at = order.findIndex((text) => text.startsWith("New since you left"));
    expect(order.slice(0, at).join()).toContain("Hello");
    expect(order.slice(at).join()).toContain("Finished");
    await shoot(next, `away-thread-${name}`);
    await accessible(next);
    // What the user has opened is not listed any more, and the card can be dismissed.
    await next.goBack();
    await expect.poll(() => card.locator("summary p").first().innerText()).toBe("1 waits for you · 1 failed");
    await card.getByRole("button", { name: "Dismiss" }).click();
    await expect.poll(() => card.count()).toBe(0);
    await other.call("turn/interrupt", { threadId: asks });
    await until(other, asks, "idle");
    await next.context().close();
  });
}

test("a page that was hidden for a while marks what came meanwhile; a short look elsewhere marks nothing", async () => {
  const id = await startThread(stage, other, "say Before", { name: "Hidden" });
  await until(other, id, "idle");
  const page = await stage.page();
  await openThread(stage, page, id);
  await page.locator(".virtual-line", { hasText: "Before" }).first().waitFor();
  const hide = (hidden: boolean) =>
    page.evaluate((now) => {
      Object.defineProperty(document, "hidden", { configurable: true, value: now });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
  await hide(true);
  await turn(id, "say Short");
  await hide(false);
  await page.locator(".virtual-line", { hasText: "Short" }).first().waitFor();
  await expect.poll(() => page.locator(".th-away").count()).toBe(0);
  await hide(true);
  await turn(id, "say Long");
  // Ten minutes pass.
  await page.evaluate(() => {
    const now = Date.now;
    Date.now = () => now() + 600_000;
  });
  await page.locator(".virtual-line", { hasText: "Long" }).first().waitFor();
  await hide(false);
  await page.locator(".th-away").waitFor();
  const order = (await page.locator(".virtual-line").allInnerTexts()).join("|");
  expect(order).toMatch(/Short.*New since you left.*Long/s);
});

test("a new tab is no return, and what happens before the user's eyes is no news", async () => {
  const id = await startThread(stage, other, "say Before", { name: "New tab" });
  await until(other, id, "idle");
  const page = await stage.page();
  await openThread(stage, page, id);
  await page.locator(".virtual-line", { hasText: "Before" }).first().waitFor();
  const tab = await newTab(page);
  await turn(id, "say Meanwhile");
  await tab.goto(stage.url);
  const unread = tab.locator(".side-list .row", { hasText: "New tab" }).locator(".row-unread");
  await expect.poll(() => unread.count()).toBe(1);
  await expect.poll(() => tab.locator(".away").count()).toBe(0);
  await tab.goto(`${stage.url}/threads/${id}`);
  await tab.locator(".virtual-line", { hasText: "Meanwhile" }).first().waitFor();
  await expect.poll(() => tab.locator(".th-away").count()).toBe(0);
  await tab.context().close();
});

test("a turn that another client has stopped is counted as stopped, at home and in the thread", async () => {
  const id = await startThread(stage, other, "say Before", { name: "To be stopped" });
  await until(other, id, "idle");
  const page = await stage.page();
  await openThread(stage, page, id);
  await page.locator(".virtual-line", { hasText: "Before" }).first().waitFor();
  const left = Date.now();
  const next = await newTab(page);
  await other.call("turn/start", { threadId: id, text: "say Begun; slow ms=600000" });
  await until(other, id, "running");
  await other.call("turn/interrupt", { threadId: id });
  await until(other, id, "idle");
  await comeBack(next, left);
  const card = next.locator(".away");
  await expect.poll(() => card.locator("summary p").first().innerText()).toContain("1 stopped");
  await card.locator("summary").click();
  const entry = card.locator(".away-entry", { hasText: "To be stopped" });
  await expect.poll(() => entry.locator(".hint").last().innerText()).toContain("1 stopped");
  await accessible(next);
  await entry.click();
  await expect.poll(() => next.locator(".th-away").innerText()).toContain("1 stopped");
  await expect.poll(() => next.locator(".pane-body").innerText()).toContain("Stopped");
  await next.context().close();
});

test("of many threads, 20 are listed and read", async () => {
  const page = await stage.page();
  await page.locator(".side-list section").first().waitFor();
  const left = Date.now();
  const next = await newTab(page);
  // The daemon limits the requests of one connection.
  const many = await stage.daemon.client("many");
  const ids: string[] = [];
  for (let number = 0; number < 23; number++) {
    ids.push(await startThread(stage, many, "say done", { name: `Many ${number}` }));
  }
  for (const id of ids) {
    await until(other, id, "idle");
  }
  const reads = calls(next);
  await comeBack(next, left);
  const card = next.locator(".away");
  await card.locator("summary").click();
  await card.getByText("and 3 more").waitFor();
  await expect.poll(() => card.locator(".away-entry").count()).toBe(20);
  await expect.poll(() => card.getByText("1 turn done").count()).toBe(20);
  expect(reads()).toBe(20);
});
