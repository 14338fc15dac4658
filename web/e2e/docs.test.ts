/** The documents that the daemon serves at /docs/: readable at any width, searched, and closed off from the UI. */

import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { accessible, PHONE, shoot, Stage } from "./support/browser.ts";
import { beyond } from "./support/room.ts";

let stage: Stage;
let page: Page;

beforeAll(async () => {
  stage = await Stage.set();
  page = await stage.page();
});
afterAll(() => stage?.end());

/** Checks a page. axe tries to fetch its style sheets, which the page's policy refuses. */
async function isAccessible(checked: Page): Promise<void> {
  const before = stage.wrongs.length;
  await accessible(checked);
  for (const wrong of stage.wrongs.splice(before)) {
    expect(wrong).toMatch(/^Connecting to '[^']*\/docs\/theme\/book-/);
  }
}

test("a link of the settings leads to the documents, and each of their pages is there", async () => {
  await page.getByRole("button", { name: "Settings" }).click();
  const link = page.getByRole("link", { name: "Documentation" });
  await expect.poll(() => link.getAttribute("href")).toBe("/docs/");
  await page.goto(`${stage.url}/docs`);
  await page.getByRole("heading", { name: "acpd", level: 1 }).waitFor();
  const contents = page.getByRole("navigation", { name: "Contents" });
  await contents.getByRole("link", { name: "Getting started" }).waitFor();
  await expect.poll(() => contents.locator("[aria-current]").count()).toBe(1);
  const addresses = await contents.locator("a").evaluateAll((links) => links.map((link) => (link as HTMLAnchorElement).href));
  expect(addresses.length).toBeGreaterThan(50);
  for (const address of addresses) {
    expect((await page.request.get(address)).status(), address).toBe(200);
  }
  // The pages have an origin of their own, so the fonts are in their styles.
  for (const font of ["16px Inter", "16px 'JetBrains Mono'"]) {
    await expect.poll(() => page.evaluate(async (name) => (await document.fonts.load(name)).length, font)).toBeGreaterThan(0);
  }
  await isAccessible(page);
  await shoot(page, "docs-desktop");
});

test("a search leads to the section", async () => {
  await page.keyboard.press("/");
  await page.keyboard.type("tailscale");
  const found = page.getByRole("search").getByRole("link");
  await found.first().waitFor();
  await found.filter({ hasText: "Remote access » Tailscale" }).first().click();
  await page.waitForURL("**/docs/remote.html*");
  await page.getByRole("heading", { name: "Tailscale" }).waitFor();
});

test("no place in the results is named twice", async () => {
  await page.goto(`${stage.url}/docs/`);
  await page.getByRole("heading", { name: "acpd", level: 1 }).waitFor();
  for (const words of ["sign in the phone", "acpd"]) {
    await page.getByRole("searchbox").fill(words);
    const found = page.getByRole("search").getByRole("link");
    await found.first().waitFor();
    await expect.poll(() => found.allTextContents()).not.toEqual([]);
    await expect.poll(async () => (await found.allTextContents()).filter((text) => /(^|» )([^»]+) » \2($| »)/.test(text))).toEqual([]);
  }
});

test("a long page begins with its sections, and a section of many parts has them in a fold", async () => {
  await page.goto(`${stage.url}/docs/app-protocol.html`);
  const names = page.getByRole("navigation", { name: "On this page" });
  await names.getByRole("link", { name: "The queue", exact: true }).click();
  await expect.poll(() => page.evaluate(() => location.hash)).toBe("#the-queue");
  await names.getByText(/^Requests: all \d+$/).click();
  await names.getByRole("link", { name: "turn/start", exact: true }).click();
  await expect.poll(() => page.locator("#turnstart").evaluate((at) => at.getBoundingClientRect().top)).toBeLessThan(200);
  await page.goto(`${stage.url}/docs/app-protocol-types.html`);
  await names.getByRole("link", { name: "ThreadSummary", exact: true }).click();
  await expect.poll(() => page.evaluate(() => location.hash)).toBe("#threadsummary");
  await isAccessible(page);
  await page.goto(`${stage.url}/docs/sharing.html`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await expect.poll(() => names.count()).toBe(0);
});

test("a picture is shown at its full size, by a click and by keys", async () => {
  await page.goto(`${stage.url}/docs/`);
  const [picture, large] = [page.locator(".checkbox-label > img"), page.locator(".img-wrapper img")];
  await picture.waitFor();
  await expect.poll(() => large.isVisible()).toBe(false);
  await picture.click();
  await expect.poll(() => large.evaluate((img: HTMLImageElement) => img.clientWidth === img.naturalWidth)).toBe(true);
  await large.click();
  await expect.poll(() => large.isVisible()).toBe(false);
  await page.locator(".checkbox-img").press("Space");
  await expect.poll(() => large.isVisible()).toBe(true);
  await page.locator(".checkbox-img").press("Space");
  await expect.poll(() => large.isVisible()).toBe(false);
});

test("its scripts can neither read what the UI stores nor ask the daemon", async () => {
  await expect.poll(() => page.evaluate(() => self.origin)).toBe("null");
  await expect.poll(() => page.evaluate(() => {
      try {
        return localStorage.length;
      } catch (error) {
        return (error as Error).name;
      }
    })).toBe("SecurityError");
  const before = stage.wrongs.length;
  expect(await page.evaluate((url) => fetch(`${url}/api/session`).then(String, () => "refused"), stage.url)).toBe("refused");
  // The attempt above is the only violation of the policy.
  for (const wrong of stage.wrongs.splice(before)) {
    expect(wrong).toContain("connect");
  }
});

/** Returns what is wider than the column of the text. Code and tables scroll in their boxes. */
function tooWide(checked: Page): Promise<string[]> {
  return checked.locator("main").evaluate((main) => {
    const edge = main.getBoundingClientRect().right - Number.parseFloat(getComputedStyle(main).paddingRight);
    return [...main.querySelectorAll("pre, .wide, img, p, ul, ol, blockquote")]
      .filter((at) => at.getBoundingClientRect().right > edge + 1 && at.checkVisibility())
      .map((at) => `${at.tagName} ${at.textContent?.slice(0, 60)}`);
  });
}

test("on a desktop nothing is wider than the text", async () => {
  const wide = await stage.page({ size: { width: 1440, height: 900 } });
  await wide.goto(`${stage.url}/docs/`);
  const contents = wide.getByRole("navigation", { name: "Contents" });
  await contents.getByRole("link", { name: "Getting started" }).waitFor();
  const addresses = await contents.locator("a").evaluateAll((links) => links.map((link) => (link as HTMLAnchorElement).href));
  // The decisions are for contributors, and have no output of commands.
  for (const address of addresses.filter((one) => !one.includes("/adr/"))) {
    await wide.goto(address);
    await wide.getByRole("heading", { level: 1 }).first().waitFor();
    await expect.poll(() => tooWide(wide), { message: address }).toEqual([]);
    await expect.poll(() => beyond(wide), { message: address }).toEqual([]);
  }
  await wide.context().close();
});

test("on a phone, wide tables and code scroll by themselves, and the contents open", async () => {
  const phone = await stage.page({ size: PHONE, dark: true });
  for (const name of ["index", "agents", "app-protocol", "app-protocol-types", "remote"]) {
    await phone.goto(`${stage.url}/docs/${name}.html`);
    await phone.getByRole("heading", { level: 1 }).waitFor();
    await expect.poll(() => beyond(phone), { message: name }).toEqual([]);
  }
  await isAccessible(phone);
  await phone.getByRole("button", { name: "Contents" }).click();
  await shoot(phone, "docs-phone");
  await phone.getByRole("link", { name: "Set up each agent" }).click();
  await phone.waitForURL("**/docs/agent-setup.html");
});
