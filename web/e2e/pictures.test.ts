/**
 * The screenshots for the README and the documents: realistic threads, in the fonts of the page. "make docs-pictures" writes them to
 * docs/images, and to e2e/pictures the boxes of what they show, and its colours and type: a picture is out of date if the page has others now.
 * Boxes are those in the fonts of the layouts, which are the same everywhere.
 */

import { mkdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { connected, openThread, say, startThread as start, until } from "./support/acts.ts";
import { DESKTOP, PHONE, Stage } from "./support/browser.ts";
import { atRest, boxDifferences, freezeWith, inItsFonts, lookDifferences, ROOT, type Words } from "./support/layout.ts";
import { withFewColours } from "./support/png.ts";

const UPDATES = process.env.ACPD_PICTURES === "1";
const OUT = fileURLToPath(new URL(UPDATES ? "../../docs/images/" : "./out/", import.meta.url));
const BOXES = fileURLToPath(new URL("./pictures/", import.meta.url));
/** Maximum size of a screenshot, in bytes. */
const BYTES = 80_000;

/** What the agent for tests is called and does, in the words of an agent for work. The pictures are read by people who never see that one. */
const SLOW = "slow ms=600000";
const WORDS: Words = [
  [ROOT, "/home/ann"],
  [SLOW, "The list of orders takes eight seconds to load. Find the slow query."],
  ['"title":"work"', '"title":"npm run bench -- orders"'],
  ["sleep 600", "npm run bench -- orders"],
  ["Fake Small", "Small"],
  ["Fake Large", "Large"],
];
const prepare = (context: BrowserContext) => freezeWith(context, WORDS);

let stage: Stage;
let id: string;
let slow: string;

beforeAll(async () => {
  await mkdir(OUT, { recursive: true });
  stage = await Stage.set({ agentName: "demo", agentTitle: "Demo agent", folder: "web-shop" });
  const other = await stage.daemon.client();
  // The page lists the latest thread first, so each is at rest before the next one begins.
  const startThread = async (text: string, name: string, status: string) => {
    const id = await start(stage, other, text, { agentType: "demo", name });
    await until(other, id, status);
    return id;
  };
  await startThread("say done", "Release notes for 0.4", "idle");
  await startThread("error message='the model is overloaded'", "Port the tests to Vitest", "idle");
  slow = await startThread(SLOW, "Find the slow query", "running");
  id = await startThread("The greeting in notes.md is rather short. Make it warmer, and more polite.", "A warmer greeting", "waiting");
  // Questions name the other clients that show them.
  other.close();
});
afterAll(() => stage?.end());

/** Takes a picture in each theme that fits into the documents, and compares what they show with the stored ones. */
async function take(page: Page, name: string, themes: readonly ("light" | "dark")[] = ["light"]): Promise<void> {
  const stale = `docs/images/${name}.png is out of date: run make docs-pictures`;
  await atRest(page);
  expect(await boxDifferences(page, `${BOXES}${name}.txt`, UPDATES), stale).toEqual([]);
  await inItsFonts(page, async () => {
    for (const theme of themes) {
      await page.emulateMedia({ colorScheme: theme });
      await atRest(page);
      const file = theme === "light" ? name : `${name}-${theme}`;
      expect(await lookDifferences(page, `${BOXES}${file}-looks.txt`, UPDATES), stale).toEqual([]);
      const picture = withFewColours(await page.screenshot({ animations: "disabled" }));
      await writeFile(`${OUT}${file}.png`, picture);
      expect(picture.length).toBeLessThan(BYTES);
    }
    await page.emulateMedia({ colorScheme: "light" });
  });
}

for (const [name, size] of Object.entries({ desktop: { ...DESKTOP, height: 900 }, phone: PHONE })) {
  test(`a thread with a plan, a diff and a question, as on a ${name}`, async () => {
    const page = await stage.page({ size, prepare });
    await openThread(stage, page, id);
    await page.locator(".pane-foot").getByRole("button", { name: "Allow once", exact: true }).waitFor();
    if (name === "desktop") {
      await page.locator(".row .live-failed").first().waitFor();
      await page.locator(".pane-foot").getByText("Plan", { exact: true }).click();
    }
    await take(page, name, ["light", "dark"]);
    await page.context().close();
  });
}

test("a day: a new thread, a queue, a search", async () => {
  const page = await stage.page({ size: { width: 1_100, height: 620 }, prepare });
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
  await page.context().close();
});
