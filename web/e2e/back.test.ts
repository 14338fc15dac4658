/** Back in the browser: it closes what is open before it leaves the view. */

import type { Client } from "@acpd/client";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { startThread, until } from "./support/acts.ts";
import { PHONE, Stage } from "./support/browser.ts";

let stage: Stage;
let other: Client;

beforeAll(async () => {
  stage = await Stage.set();
  other = await stage.daemon.client("other-program");
});
afterAll(() => stage?.end());

const openDrawer = (page: Page) => page.getByRole("button", { name: /^Threads/ }).tap();
const isDrawerOpen = (page: Page) => page.locator("#sidebar").evaluate((side) => side.classList.contains("is-open"));
const path = (page: Page) => new URL(page.url()).pathname;

test("on a phone Back closes dialogs, the drawer and the sheet of a question, and then leaves the view", async () => {
  const id = await startThread(stage, other, "permission kind=execute command='make back'", { name: "Sheet" });
  await until(other, id, "waiting");
  const page = await stage.page({ size: PHONE });
  await openDrawer(page);
  await expect.poll(() => isDrawerOpen(page)).toBe(true);
  await page.getByRole("button", { name: "Settings" }).tap();
  await page.getByRole("dialog", { name: "Settings" }).waitFor();
  await page.goBack();
  await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
  expect(await isDrawerOpen(page)).toBe(true);
  await page.goBack();
  await expect.poll(() => isDrawerOpen(page)).toBe(false);
  expect(path(page)).toBe("/");

  await openDrawer(page);
  await page.locator(".side-list .row", { hasText: "Sheet" }).locator(".row-name").tap();
  await page.waitForURL(`**/threads/${id}`);
  await page.locator(".th-question.is-sheet").waitFor();
  await page.goBack();
  await page.locator(".th-folded").waitFor();
  expect(path(page)).toBe(`/threads/${id}`);
  await page.goBack();
  await expect.poll(() => path(page)).toBe("/");
  await expect.poll(() => isDrawerOpen(page)).toBe(false);
});

test("closed another way, nothing is left for Back, and a reload with the drawer open is no trap", async () => {
  const page = await stage.page({ size: PHONE });
  await openDrawer(page);
  await page.getByRole("link", { name: "Archive" }).tap();
  await expect.poll(() => path(page)).toBe("/archive");
  await expect.poll(() => isDrawerOpen(page)).toBe(false);
  await openDrawer(page);
  await page.getByRole("button", { name: "Close the list" }).tap();
  await expect.poll(() => page.evaluate(() => history.state)).toBe(null);
  await openDrawer(page);
  await expect.poll(() => page.evaluate(() => history.state)).not.toBe(null);
  await page.reload();
  await page.locator(".page").waitFor();
  await expect.poll(() => isDrawerOpen(page)).toBe(false);
  await page.goBack();
  await expect.poll(() => path(page)).toBe("/");
});

test("Back closes a menu and the palette, on a desktop as well", async () => {
  const id = await startThread(stage, other, "say hello", { name: "Menu" });
  await until(other, id, "idle");
  const page = await stage.page();
  await page.locator(".side-list .row", { hasText: "Menu" }).locator(".row-link").click();
  await page.waitForURL(`**/threads/${id}`);
  await page.locator(".pane .view-actions button").first().click();
  await page.getByRole("menu").waitFor();
  await page.goBack();
  await expect.poll(() => page.getByRole("menu").count()).toBe(0);
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").waitFor();
  await page.goBack();
  await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
  expect(path(page)).toBe(`/threads/${id}`);
  await page.goBack();
  await expect.poll(() => path(page)).toBe("/");
});
