/** Subagents: one line each in their parent's conversation, which opens to its own; their questions and their work. */

import type { Client } from "@acpd/client";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";

import { openThread, startThread, until } from "./support/acts.ts";
import { accessible, PHONE, shoot, Stage } from "./support/browser.ts";

let stage: Stage;
let other: Client;
let page: Page;

beforeAll(async () => {
  stage = await Stage.set();
});
beforeEach(async () => {
  other = await stage.daemon.client("other-program");
});
afterEach(async () => {
  other.close();
  await page?.context().close();
});
afterAll(() => stage?.end());

const NESTED = "say before; tool kind=read; subagent title=review id=r1; say 'Looking at it.'; tool kind=edit title='Edit a.rs'; subagent title=deep id=r2; say 'Very deep.'; parent; say 'Found two.'; parent; say 'It is done.'";

const line = (name: string) => page.getByRole("button", { name: `Subagent: ${name}` });
const words = (text: string) => page.locator(".th-agent", { hasText: text });

/** Opens the work of the ended turn, in which subagents are. */
async function openWork(): Promise<void> {
  const work = page.locator(".th-line-of-work > .th-work");
  await work.waitFor();
  if ((await work.getAttribute("aria-expanded")) === "false") await work.click();
}

test("a subagent is one line that opens to its own conversation, by the keyboard as well, and after a reload", async () => {
  page = await stage.page();
  const id = await startThread(stage, other, NESTED);
  await openThread(stage, page, id);
  await until(other, id, "idle");
  await openWork();
  await expect.poll(() => line("review").innerText()).toMatch(/review[^]*Found two\.[^]*1 call/);
  await expect.poll(() => words("Looking at it.").count(), { message: "its words are not those of the main agent" }).toBe(0);
  await expect.poll(() => words("It is done.").count()).toBe(1);
  await line("review").press("Enter");
  await words("Looking at it.").waitFor();
  await expect.poll(() => words("Very deep.").count()).toBe(0);
  await line("deep").press("Enter");
  await words("Very deep.").waitFor();
  await accessible(page);
  await shoot(page, "subagents-desktop");
  await line("review").press("Enter");
  await expect.poll(() => words("Looking at it.").count()).toBe(0);
  await page.reload();
  await openWork();
  await expect.poll(() => line("review").innerText(), { message: "the names come with the list" }).toContain("review");
});

test("what a subagent is told is not the user's message: it has no place among them, and is not edited", async () => {
  page = await stage.page();
  const id = await startThread(stage, other, "subagent title=review id=t; mirror; tool kind=read; say 'Found two.'; parent; say 'It is done.'");
  await openThread(stage, page, id);
  await until(other, id, "idle");
  await line("review").click();
  const told = page.getByRole("group", { name: "Said to the subagent" });
  await told.waitFor();
  await expect.poll(() => told.getByRole("button", { name: /Edit and resend/ }).count()).toBe(0);
  await expect.poll(() => page.getByRole("group", { name: "You said" }).count(), { message: "the prompt alone is the user's" }).toBe(1);
  await accessible(page);
  await shoot(page, "subagents-told");
});

for (const dark of [false, true]) {
  test(`on a phone, a line keeps its name, its calls and its state, and opens by a press: ${dark ? "dark" : "light"}`, async () => {
    page = await stage.page({ size: PHONE, dark });
    const id = await startThread(stage, other, `subagent title='${"a long title of a subagent ".repeat(8)}' id=p; tool kind=edit title='${"Edit ".repeat(60)}'; say found; parent; say done`);
    await openThread(stage, page, id);
    await until(other, id, "idle");
    const long = line("a long title");
    await long.waitFor();
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    await expect.poll(() => long.locator(".th-lane-count").innerText()).toBe("1 call");
    await long.click();
    await words("found").waitFor();
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    await accessible(page);
    await shoot(page, `subagents-phone-${dark ? "dark" : "light"}`);
  });
}

test("a question of a subagent says first who asks", async () => {
  page = await stage.page();
  const id = await startThread(stage, other, "subagent title=review id=q; permission kind=execute command='echo all'; parent; say done");
  await openThread(stage, page, id);
  const card = page.locator("[data-question]");
  await expect.poll(() => card.locator("h3").innerText()).toMatch(/^Subagent “review”:/);
  await expect.poll(() => line("review").locator(".th-status").innerText()).toBe("waiting for you");
  await accessible(page);
  await card.getByRole("button", { name: "Allow once" }).click();
  await until(other, id, "idle");
  await words("done").last().waitFor();
});

test("while a subagent works on, the thread says so, and Stop stops it", async () => {
  page = await stage.page();
  const id = await startThread(stage, other, "subagent title=on id=w; tool kind=edit; parent working=true; say 'It works on.'");
  await openThread(stage, page, id);
  await page.locator(".th-working", { hasText: "1 subagent at work" }).waitFor();
  await words("It works on.").waitFor();
  // The agent's turn has ended: its foot is there.
  await page.locator(".th-turn-foot").first().waitFor({ state: "attached" });
  await page.locator(".pane-foot").getByRole("button", { name: "Stop", exact: true }).click();
  await until(other, id, "idle");
  await expect.poll(() => page.locator(".th-working").count()).toBe(0);
});
