/** What stands between the items of a conversation, live and after a reload: notices, answers, and who decided. */

import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";

import type { Client } from "@acpd/client";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { openThread, settled, startThread, until } from "./support/acts.ts";
import { accessible, Stage } from "./support/browser.ts";

let stage: Stage;
let other: Client;
let page: Page;

beforeAll(async () => {
  stage = await Stage.set({ config: ["[policy]", 'allow = ["Bash(echo *)"]', 'ask = ["Edit(asked.txt)"]'] });
  other = await stage.daemon.client("other-program", { backoff: { firstMs: 20, maxMs: 50 } });
  page = await stage.page();
});
afterAll(() => stage?.end());

const lines = () => page.locator(".virtual-line").allInnerTexts();

/** Reloads the page; its lines must be those of before. */
async function staysSame(last: string): Promise<string[]> {
  await page.locator(".virtual-line", { hasText: last }).last().waitFor();
  await settled(page.getByRole("feed"));
  const live = await lines();
  await page.reload();
  await page.locator(".virtual-line", { hasText: last }).last().waitFor();
  await expect.poll(lines).toEqual(live);
  return live;
}

test("an agent that lost its memory between turns is one line after the last turn", async () => {
  const id = await startThread(stage, other, "say hello");
  await until(other, id, "idle");
  await stage.daemon.kill("SIGTERM");
  const sessions = join(stage.daemon.root, "sessions");
  for (const name of await readdir(sessions)) {
    await rm(join(sessions, name), { recursive: true });
  }
  await stage.daemon.launch();
  await openThread(stage, page, id);
  await page.locator(".th-agent", { hasText: "hello" }).waitFor();
  // The first key starts the agent.
  await page.locator(".pane textarea").fill("h");
  const notice = page.locator(".th-notice");
  await notice.filter({ hasText: "The agent restarted and has lost the earlier context." }).waitFor();
  await expect.poll(() => notice.count()).toBe(1);
  const live = await staysSame("lost the earlier context");
  expect(live.findIndex((line) => line.includes("lost the earlier context"))).toBe(live.length - 1);
  await page.locator(".th-notice summary").click();
  await page.locator(".th-notice-detail", { hasText: "session/load" }).waitFor();
  await accessible(page);
});

test("an answered form, and an answer to acpd itself, stay in the conversation", async () => {
  const id = await startThread(stage, other, "write path=asked.txt text=x; elicit; say finished");
  await openThread(stage, page, id);
  await page.locator(".pane-foot").getByRole("button", { name: "Allow once", exact: true }).click();
  await page.locator(".pane-foot").getByLabel(/Name/).first().fill("Ann");
  await page.getByRole("button", { name: "Send answer" }).click();
  await page.locator(".th-agent", { hasText: "finished" }).waitFor();
  // The daemon's status is ahead of the page.
  await page.locator(".pane .th-turn-foot").first().waitFor({ state: "attached" });
  const live = await staysSame("finished");
  expect(live.find((line) => line.startsWith("Answered"))).toMatch(/Who are you\?\s*by owner \(web\), /);
  // The file says who allowed it.
  expect(live.find((line) => line.includes("asked.txt") && !line.includes("elicit"))).toMatch(/Allowed by owner \(web\), /);
  await page.locator(".th-answer summary").click();
  await page.locator(".th-given", { hasText: "Ann" }).waitFor();
  await accessible(page);
});

test("a turn counts the calls that a rule allowed", async () => {
  const id = await startThread(stage, other, "terminal echo hi");
  await until(other, id, "idle");
  const read = await other.call("thread/read", { threadId: id, includeTurns: true });
  expect(read.thread.turns?.map(({ permitted }) => permitted)).toEqual([1]);
});

test("the list says that a restart interrupted a thread", async () => {
  const id = await startThread(stage, other, "slow ms=600000", { name: "Cut off" });
  await until(other, id, "running");
  await page.goto(stage.url);
  await page.locator(".side-list .row", { hasText: "Cut off" }).waitFor();
  await stage.daemon.kill("SIGKILL");
  await stage.daemon.launch();
  await page.locator(".side-list .row", { hasText: "Cut off" }).getByText("Interrupted by a restart").waitFor();
});

test("an agent that has not declared steering is not offered it, and the key says so", async () => {
  const id = await startThread(stage, other, "slow ms=600000");
  await openThread(stage, page, id);
  await page.locator(".pane-foot").getByRole("button", { name: "Stop", exact: true }).waitFor();
  await page.locator(".pane textarea").fill("more");
  await page.locator(".pane-foot").getByRole("button", { name: "Queue", exact: true }).waitFor();
  await expect.poll(() => page.getByRole("button", { name: "Steer", exact: true }).count()).toBe(0);
  await expect
    .poll(async () => {
      await page.locator(".pane textarea").fill("more");
      await page.locator(".pane textarea").press("Alt+Enter");
      return page.getByText("This agent cannot be steered, so the message is queued.").count();
    })
    .toBe(1);
});
