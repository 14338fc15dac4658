/** From a daemon without agents to a first answer, in the browser alone. */

import type { Page } from "playwright-core";
import { afterEach, expect, test } from "vitest";

import { accessible, PHONE, shoot, Stage } from "./support/browser.ts";
import { FAKE_AGENT } from "./support/daemon.ts";
import { type Registry, serveRegistry } from "./support/registry.ts";

let stage: Stage | undefined;
let registry: Registry | undefined;

afterEach(async () => {
  registry?.end();
  await stage?.end();
  stage = undefined;
});

/** Starts a daemon whose registry has one agent, which is not installed. */
async function bare(): Promise<Stage> {
  registry = await serveRegistry();
  stage = await Stage.set({ agentName: null, first: registry.config, config: ["[sandbox]", `read = [${JSON.stringify(FAKE_AGENT)}]`] });
  await stage.daemon.run("agents", "update");
  return stage;
}

/** Presses Tab until the element that matches has the focus. */
async function tabTo(page: Page, selector: string): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted) === true, selector)) {
      return;
    }
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not lead to ${selector}`);
}

const active = (page: Page) => page.evaluate(() => document.activeElement?.id || document.activeElement?.textContent);

test("by keyboard alone: install, sign in, first answer", async () => {
  const { daemon } = await bare();
  const page = await stage!.page();
  await page.getByRole("heading", { name: "Choose an agent" }).waitFor();
  await page.getByText("acpd serve --demo").waitFor();
  await shoot(page, "setup-desktop");
  await accessible(page);
  await tabTo(page, '[aria-label="Install Looped"]');
  await page.keyboard.press("Enter");
  // The progress is there, on other devices as well.
  await page.getByText(/Downloading 100 kB of 400 kB/).waitFor();
  const phone = await stage!.page({ size: PHONE });
  await phone.getByRole("progressbar", { name: "Installing Looped" }).waitFor();
  await shoot(phone, "setup-progress-phone");
  await accessible(phone);
  registry!.release();
  await phone.locator("#prompt").waitFor();
  await page.locator("#prompt").waitFor();
  await expect.poll(() => active(page)).toBe("prompt");
  await page.keyboard.type("say It works");
  await tabTo(page, "#folder");
  await page.keyboard.type(daemon.work);
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/threads\//);
  await page.getByRole("heading", { name: "Sign in to Looped" }).waitFor();
  await page.getByRole("button", { name: "Sign in to Looped with API key" }).waitFor();
  await shoot(page, "setup-sign-in-desktop");
  await accessible(page);
  await tabTo(page, '[aria-label="Sign in to Looped with API key"]');
  await page.keyboard.press("Enter");
  await expect.poll(() => active(page)).toBe("Try again");
  await page.keyboard.press("Enter");
  await page.locator(".virtual-line", { hasText: "It works" }).last().waitFor();
  await page.locator(".th-turn-end", { hasText: "Done" }).waitFor();
  await expect.poll(() => page.locator(".sign-in-card").count()).toBe(0);
});

test("on the phone, by touch", async () => {
  const { daemon } = await bare();
  registry!.release();
  const page = await stage!.page({ size: PHONE });
  await page.getByRole("button", { name: "Install Looped" }).tap();
  await page.locator("#prompt").fill("say It works");
  await page.locator("#folder").fill(daemon.work);
  await page.locator(".view-head").tap();
  await page.getByRole("button", { name: "Start" }).tap();
  await page.getByRole("button", { name: "Sign in to Looped with API key" }).waitFor();
  await shoot(page, "setup-sign-in-phone");
  await accessible(page);
  // Agents know as well.
  await page.goto(`${stage!.url}/agents`);
  await page.goBack();
  await page.getByRole("button", { name: "Sign in to Looped with API key" }).tap();
  await page.getByRole("button", { name: "Try again" }).first().tap();
  await page.locator(".th-turn-end", { hasText: "Done" }).waitFor();
});

test("a check says that an agent starts but is not signed in", async () => {
  stage = await Stage.set({ agentArgs: ["--pace", "0", "--sign-in"] });
  const page = await stage.page();
  await page.locator("#prompt").fill("say hello");
  await page.locator("#folder").fill(stage.daemon.work);
  await page.locator("#prompt").press("Enter");
  await page.getByRole("heading", { name: "Sign in to fake" }).waitFor();
  // The attempt left no words on the form, and the thread is in the list.
  await page.getByRole("link", { name: "Agents" }).click();
  await page.getByRole("button", { name: "Check fake" }).click();
  await page.getByText("Starts. Not signed in.").waitFor();
  await page.getByRole("link", { name: "New thread", exact: true }).click();
  expect(await page.locator("#prompt").inputValue()).toBe("");
  await page.locator(".side-list .row").first().click();
  await page.getByRole("heading", { name: "Sign in to fake" }).waitFor();
});
