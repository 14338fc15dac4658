/**
 * The screenshots for the README and the documents, of realistic threads. "make docs-pictures" writes them to docs/images, and the boxes
 * of what they show to e2e/pictures: a picture is out of date if the page has other boxes now.
 */

import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import type { Client } from "@acpd/client";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { connected, openThread, say, startThread as start, until } from "./support/acts.ts";
import { DESKTOP, PHONE, Stage } from "./support/browser.ts";
import { atRest, boxDifferences, freeze } from "./support/layout.ts";

const UPDATES = process.env.ACPD_PICTURES === "1";
const OUT = fileURLToPath(new URL(UPDATES ? "../../docs/images/" : "./out/", import.meta.url));
const BOXES = fileURLToPath(new URL("./pictures/", import.meta.url));
/** Maximum size of a screenshot, in bytes. */
const BYTES = 200_000;

let stage: Stage;
let other: Client;
let id: string;
let slow: string;

const startThread = (text: string, name: string) => start(stage, other, text, { agentType: "demo", name });

beforeAll(async () => {
  await mkdir(OUT, { recursive: true });
  stage = await Stage.set({ agentName: "demo" });
  other = await stage.daemon.client();
  await startThread("say done", "Release notes for 0.4");
  await startThread("error message='the model is overloaded'", "Port the tests to Vitest");
  slow = await startThread("slow ms=600000", "Find the slow query");
  id = await startThread("The greeting in notes.md is rather short. Make it warmer, and more polite.", "A warmer greeting");
  await until(other, id, "waiting");
});
afterAll(() => stage?.end());

/** Takes a picture that fits into the documents, and compares what it shows with the stored one. */
async function take(page: Page, name: string): Promise<void> {
  await atRest(page);
  expect(await boxDifferences(page, `${BOXES}${name}.txt`, UPDATES), `docs/images/${name}.png is out of date: run make docs-pictures`).toEqual([]);
  const picture = await page.screenshot({ path: `${OUT}${name}.png`, animations: "disabled" });
  expect(picture.length).toBeLessThan(BYTES);
}

for (const [name, size] of Object.entries({ desktop: { ...DESKTOP, height: 900 }, phone: PHONE })) {
  test(`a thread with a plan, a diff and a question, as on a ${name}`, async () => {
    const page = await stage.page({ size, prepare: freeze });
    await openThread(stage, page, id);
    await page.locator(".pane-foot").getByRole("button", { name: "Allow once", exact: true }).waitFor();
    if (name === "desktop") {
      await page.locator(".row .live-failed").first().waitFor();
      await page.locator(".pane-foot").getByText("Plan", { exact: true }).click();
    }
    await take(page, name);
  });
}

test("a day: a new thread, a queue, a search", async () => {
  const page = await stage.page({ size: { width: 1_100, height: 620 }, prepare: freeze });
  await connected(page);
  await page.locator("#prompt").fill("Add a dark theme, and a switch for it in the settings.");
  await take(page, "day-start");

  await openThread(stage, page, slow);
  await page.locator(".pane-foot").getByRole("button", { name: "Stop", exact: true }).waitFor();
  for (const text of ["Then add an index, and measure again.", "Write the figures into docs/performance.md."]) {
    await say(page, text);
    await page.getByRole("region", { name: "Queued messages" }).getByText(text).waitFor();
  }
  await take(page, "day-queue");

  await page.locator("#search").fill("greeting");
  await page.locator(".hits").first().waitFor();
  await page.locator(".hits mark").first().waitFor();
  await take(page, "day-search");
});
