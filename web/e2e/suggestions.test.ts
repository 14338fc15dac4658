/** Prompts that the agent suggests. */

import type { Client } from "@acpd/client";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { openThread, startThread } from "./support/acts.ts";
import { accessible, Stage } from "./support/browser.ts";

let stage: Stage;
let other: Client;
let page: Page;

beforeAll(async () => {
  stage = await Stage.set();
  other = await stage.daemon.client("other-program");
  page = await stage.page();
});
afterAll(() => stage?.end());

test("a suggested prompt fills the message box, and its user sends it", async () => {
  const id = await startThread(stage, other, "suggest 'say hello | say bye'");
  await openThread(stage, page, id);
  const chips = page.getByRole("list", { name: "Suggested prompts" }).getByRole("button");
  await expect.poll(() => chips.allTextContents()).toEqual(["say hello", "say bye"]);
  await accessible(page);
  const box = page.locator(".pane textarea");
  await chips.nth(1).click();
  await expect.poll(() => box.inputValue()).toBe("say bye");
  await expect.poll(() => chips.count()).toBe(0);
  await box.fill("");
  await expect.poll(() => chips.count()).toBe(2);
  await box.press("ArrowRight");
  await expect.poll(() => box.inputValue()).toBe("say hello");
  await box.press("Enter");
  await page.getByText("hello", { exact: true }).waitFor();
  await expect.poll(() => box.inputValue()).toBe("");
  await expect.poll(() => chips.count()).toBe(0);
});

test("a page that comes later shows them, and a reload too", async () => {
  const id = await startThread(stage, other, "suggest 'say hello'");
  const late = await stage.page();
  const chips = late.getByRole("list", { name: "Suggested prompts" }).getByRole("button");
  await openThread(stage, late, id);
  await expect.poll(() => chips.allTextContents()).toEqual(["say hello"]);
  await late.reload();
  await expect.poll(() => chips.allTextContents()).toEqual(["say hello"]);
});
