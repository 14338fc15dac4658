/**
 * How fast the page is: its first picture, from thread to thread, and while a message streams on a slow processor. Prints the figures of
 * docs/performance.md and checks them against their bounds. Its times depend on the host and its other load, so it is no test: `make bench-ui`
 * runs it.
 */

import type { Client } from "@acpd/client";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { openThread, startThread, until } from "./support/acts.ts";
import { Stage } from "./support/browser.ts";

let stage: Stage;
let other: Client;

beforeAll(async () => {
  stage = await Stage.set();
  other = await stage.daemon.client();
});
afterAll(() => stage?.end());

/** Bounds, in milliseconds and frames a second. */
const FIRST_PICTURE = 500;
const SEEN = 150;
const UNSEEN = 350;
const FRAMES = 40;

const TURN = 'think n=3; tool kind=read path=src/a.rs; tool kind=search path=src; say "I look"; tool kind=edit path=src/a.rs; tool kind=execute; say "**Done**, with `code`.\\n\\n- one\\n- two"';

/** Starts threads of 15 turns with 8 items each. */
async function usualThreads(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) {
    // A connection may send 60 requests in 10 seconds.
    const client = await stage.daemon.client();
    const id = await startThread(stage, client, TURN, { name: `Thread ${n}` });
    for (let turn = 1; turn < 15; turn++) {
      await client.call("turn/start", { threadId: id, text: TURN });
    }
    await until(client, id, "idle");
    client.close();
    ids.push(id);
  }
  return ids;
}

/** Returns the milliseconds from a click on a thread's row until the thread is drawn. */
async function switchTo(page: Page, id: string): Promise<number> {
  await page.locator(`[data-thread="${id}"] .row-link`).first().waitFor();
  const took = await page.evaluate(
    (id) =>
      new Promise<number>((done) => {
        const from = performance.now();
        const isShown = () => document.querySelector(`.pane[data-thread="${id}"] .virtual-line`) !== null;
        const observer = new MutationObserver(() => {
          if (isShown()) {
            observer.disconnect();
            // After the frame that draws it.
            requestAnimationFrame(() => setTimeout(() => done(performance.now() - from)));
          }
        });
        observer.observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-thread"] });
        document.querySelector<HTMLElement>(`[data-thread="${id}"] .row-link`)!.click();
      }),
    id,
  );
  await page.locator(`.pane[data-thread="${id}"] .virtual-line`, { hasText: "Done" }).last().waitFor();
  return took;
}

function print(name: string, times: readonly number[], bound: number): void {
  const sorted = times.toSorted((one, other) => one - other);
  const median = sorted[Math.floor(sorted.length / 2)]!;
  console.log(`${name}: ${Math.round(median)} ms (${Math.round(sorted[0]!)} to ${Math.round(sorted.at(-1)!)}), bound ${bound}`);
  expect(median).toBeLessThanOrEqual(bound);
}

describe("threads", () => {
  let ids: string[];
  beforeAll(async () => {
    ids = await usualThreads(6);
  }, 240_000);

  test("the first load, and a thread's first picture", async () => {
    const loads: number[] = [];
    const pictures: number[] = [];
    for (const id of ids.slice(0, 5)) {
      // A new browser context has nothing in its cache.
      const page = await stage.page();
      await page.locator(".home-form").waitFor();
      const { paintedAt, bytes } = await page.evaluate(() => ({
        paintedAt: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Infinity,
        bytes: (performance.getEntriesByType("resource") as PerformanceResourceTiming[])
          .filter(({ name }) => /\.(js|css)$/.test(name))
          .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
      }));
      loads.push(paintedAt);
      console.log(`scripts and styles until the form is shown: ${Math.round(bytes / 1000)} kB`);
      await page.addInitScript(() => {
        const observer = new MutationObserver(() => {
          if (document.querySelector(".pane .virtual-line") !== null) {
            observer.disconnect();
            requestAnimationFrame(() => setTimeout(() => Object.assign(window, { shownAt: performance.now() })));
          }
        });
        observer.observe(document, { childList: true, subtree: true });
      });
      await openThread(stage, page, id);
      await page.waitForFunction(() => "shownAt" in window);
      pictures.push(await page.evaluate(() => (window as unknown as { shownAt: number }).shownAt));
      await page.context().close();
    }
    print("first picture of the page", loads, FIRST_PICTURE);
    print("a thread, from the beginning of the load", pictures, 2 * FIRST_PICTURE);
  });

  test("from thread to thread", async () => {
    const page = await stage.page();
    // The page loads the views that are likely next 2 seconds after its start.
    await switchTo(page, ids[0]!);
    await page.waitForLoadState("networkidle");
    const unseen: number[] = [];
    for (const id of ids.slice(1)) {
      unseen.push(await switchTo(page, id));
    }
    const seen: number[] = [];
    for (let round = 0; round < 3; round++) {
      for (const id of ids) {
        seen.push(await switchTo(page, id));
      }
    }
    print("thread that was not open yet", unseen, UNSEEN);
    print("thread that was open before", seen, SEEN);
    await page.context().close();
  });
});

/** Messages of some 10,000 characters, at 200 words a second: each chunk is " word 1". */
const STREAMS = {
  "one paragraph": "stream n=900 ms=10",
  "one list": Array.from({ length: 90 }, (_, n) => `say "\\n- **Point ${n}** of \`the list\`,"; stream n=10 ms=10`).join("; "),
};

test.each(Object.entries(STREAMS))("frames while a message streams on a processor that is four times slower: %s", async (name, script) => {
  const id = await startThread(stage, other);
  const page = await stage.page();
  await openThread(stage, page, id);
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate: 4 });
  await page.evaluate(() => {
    const figures = { frames: 0, from: 0, until: 0, long: 0 };
    Object.assign(window, { figures });
    new PerformanceObserver((list) => (figures.long += list.getEntries().length)).observe({ type: "longtask" });
    const step = (now: number) => {
      // From the first word on, until the turn has ended.
      if (document.querySelector(".pane .th-agent") !== null && document.querySelector(".pane .th-line-of-turnEnd") === null) {
        figures.from ||= now;
        figures.until = now;
        figures.frames += 1;
      }
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  });
  await other.call("turn/start", { threadId: id, text: script });
  await page.locator(".pane .th-line-of-turnEnd").waitFor({ state: "attached", timeout: 120_000 });
  const { frames, from, until: end, long } = await page.evaluate(
    () => (window as unknown as { figures: { frames: number; from: number; until: number; long: number } }).figures,
  );
  const rate = (frames - 1) / ((end - from) / 1000);
  console.log(`${name}: ${rate.toFixed(1)} frames a second during ${((end - from) / 1000).toFixed(1)} s, ${long} long tasks; bound ${FRAMES}`);
  expect(end - from).toBeGreaterThan(4_000);
  expect(rate).toBeGreaterThanOrEqual(FRAMES);
  await page.context().close();
}, 180_000);
