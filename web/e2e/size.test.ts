/** Long and fast threads. The limits come from the requirements; the test prints the measured values. */

import type { Client } from "@acpd/client";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { openThread, startThread, until } from "./support/acts.ts";
import { Stage } from "./support/browser.ts";

let stage: Stage;
let other: Client;

beforeAll(async () => {
  stage = await Stage.set();
  other = await stage.daemon.client();
});
afterAll(() => stage?.end());

/** Measures the processor time of the page's own thread, in seconds: independent of the load of the host. */
async function meter(page: Page): Promise<() => Promise<{ work: number; at: number }>> {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    const of = (name: string) => metrics.find((metric) => metric.name === name)!.value;
    return { work: of("TaskDuration"), at: performance.now() / 1000 };
  };
}

/** Opens a thread by a click in the list; returns the page's work until its end is drawn, and the lines in the page. */
async function firstPicture(page: Page, id: string, end: string, name: string): Promise<{ work: number; lines: number }> {
  await page.locator(`[data-thread="${id}"]`).first().waitFor();
  const asked = performance.now();
  await other.call("thread/read", { threadId: id, includeTurns: true, limit: 10 });
  const answered = performance.now() - asked;
  const read = await meter(page);
  const before = await read();
  const seen = await page.evaluate(async (id) => {
    const from = performance.now();
    document.querySelector<HTMLElement>(`[data-thread="${id}"] .row-link`)!.click();
    await new Promise<void>((done) => {
      const look = new MutationObserver(() => {
        if (document.querySelector(".pane .virtual-line")) {
          look.disconnect();
          // After the frame that draws it.
          requestAnimationFrame(() => setTimeout(done));
        }
      });
      look.observe(document.body, { childList: true, subtree: true });
    });
    return performance.now() - from;
  }, id);
  await page.locator(".pane .virtual-line", { hasText: end }).last().waitFor();
  const work = (await read()).work - before.work;
  const lines = await page.locator(".virtual-line").count();
  console.log(
    `${name}: ${Math.round(work * 1000)} ms of work, painted ${Math.round(seen)} ms after the click; the daemon alone takes ${Math.round(answered)} ms; ${lines} lines in the page`,
  );
  return { work, lines };
}

test("a thread of 10,000 items opens within a second of work, and has few of them in the page", async () => {
  const steps = Array.from({ length: 5000 }, (_, n) => `say "number ${n}"; tool kind=read`);
  const id = await startThread(stage, other, steps.join("; "));
  await until(other, id, "idle");
  const page = await stage.page();
  const { work, lines } = await firstPicture(page, id, "number 4999", "10,000 items");
  const height = () => page.getByRole("feed").evaluate((el) => el.scrollHeight);
  await expect.poll(height).toBeGreaterThan(20_000);
  expect(lines).toBeLessThan(100);
  expect(work).toBeLessThan(1);
  await page.getByRole("feed").focus();
  // The daemon sends a turn of this size in pages, and one key loads all of them.
  await page.keyboard.press("Home");
  await page.locator(".virtual-line", { hasText: "number 0" }).first().waitFor({ timeout: 60_000 });
  await expect.poll(height).toBeGreaterThan(100_000);
  await page.keyboard.press("End");
  await page.locator(".virtual-line", { hasText: "number 4999" }).first().waitFor();
}, 240_000);

/** Scrolls a conversation up for a number of frames; returns the frames a second, and the work for each in seconds. */
async function scrollUp(page: Page, frames: number): Promise<{ rate: number; work: number }> {
  const read = await meter(page);
  const before = await read();
  const took = await page.getByRole("feed").evaluate(
    (el, frames) =>
      new Promise<number>((done) => {
        const from = performance.now();
        let left = frames;
        const step = () => {
          el.scrollBy(0, -120);
          left -= 1;
          if (left === 0) done(performance.now() - from);
          else requestAnimationFrame(step);
        };
        requestAnimationFrame(step);
      }),
    frames,
  );
  const after = await read();
  return { rate: (frames * 1000) / took, work: (after.work - before.work) / frames };
}

test("300 turns of 9 items have their first picture after half a second of work, and scroll at 55 frames a second", async () => {
  const id = await startThread(stage, other, "say begin");
  const script =
    'think n=3; tool kind=read path=src/a.rs; tool kind=search path=src; say "I look"; tool kind=edit path=src/a.rs; tool kind=execute; tool kind=read; say "**Done**, with `code`"';
  // A connection may send 60 requests in 10 seconds, and 16 turns may wait.
  for (let turns = 0; turns < 300; turns += 15) {
    const client = await stage.daemon.client();
    for (let n = 0; n < 15; n++) {
      await client.call("turn/start", { threadId: id, text: script });
    }
    await until(client, id, "idle");
    client.close();
  }
  const page = await stage.page();
  const picture = await firstPicture(page, id, "Done, with", "300 turns");
  expect(picture.work).toBeLessThan(0.5);
  await page.locator(".th-work").last().waitFor();
  await page.getByRole("feed").focus();
  await page.keyboard.press("Home");
  await page.locator(".virtual-line", { hasText: "begin" }).first().waitFor();
  await page.keyboard.press("End");
  await expect.poll(() => page.getByRole("feed").evaluate((el) => el.scrollTop)).toBeGreaterThan(30_000);
  await expect.poll(() => page.locator(".virtual-line").count()).toBeLessThan(100);
  const folded = await scrollUp(page, 240);
  // The same with the work of the last turns open.
  await page.keyboard.press("End");
  await expect.poll(() => page.locator(".virtual-line").last().innerText()).toContain("1 file changed");
  await page.locator('[data-key="work-turn_301"]').waitFor();
  for (let n = 0; n < 6; n++) {
    const closed = page.locator(".th-work[aria-expanded=false]:not(.th-group)").last();
    // What is open moves the rest out of the window.
    if (n > 2 && (await closed.count()) === 0) break;
    const key = await closed.evaluate((el) => el.closest<HTMLElement>("[data-key]")!.dataset.key);
    await closed.press("Enter");
    await page.locator(`[data-key="${key}"] [aria-expanded=true]`).waitFor();
  }
  const open = await scrollUp(page, 120);
  for (const [name, { rate, work }] of Object.entries({ folded, open })) {
    console.log(`300 turns, ${name}: ${Math.round(rate)} frames a second, ${(work * 1000).toFixed(1)} ms of work for each`);
    expect(work).toBeLessThan(1 / 55);
  }
}, 240_000);

test("300 turns that end before the page leave neither nodes nor memory in it", async () => {
  const id = await startThread(stage, other, "say begin");
  const page = await stage.page();
  await openThread(stage, page, id);
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  const measure = async () => {
    await session.send("HeapProfiler.collectGarbage");
    const { metrics } = await session.send("Performance.getMetrics");
    const of = (name: string) => metrics.find((metric) => metric.name === name)!.value;
    return { nodes: of("Nodes"), heap: of("JSHeapUsedSize") / 1e6 };
  };
  // The answers arrive in pieces, and have several blocks.
  const script =
    'think n=3; tool kind=read path=src/a.rs; say "I look"; tool kind=edit path=src/a.rs; tool kind=execute; say "Done.\\n\\nIt has `code`.\\n\\n"; stream n=6 ms=2';
  for (let turns = 0; turns < 300; turns += 15) {
    const client = await stage.daemon.client();
    for (let n = 0; n < 15; n++) {
      await client.call("turn/start", { threadId: id, text: script });
    }
    await until(client, id, "idle");
    client.close();
  }
  await page.locator('[data-key="work-turn_301"]').waitFor();
  await expect.poll(async () => (await measure()).nodes).toBeLessThan(8_000);
  await expect.poll(async () => (await measure()).heap).toBeLessThan(12);
  const { nodes, heap } = await measure();
  console.log(`300 turns live: ${nodes} nodes, ${heap.toFixed(1)} MB`);
}, 240_000);

test("100 deltas a second cost less than half a core", async () => {
  const id = await startThread(stage, other);
  const page = await stage.page();
  await openThread(stage, page, id);
  const read = await meter(page);
  await other.call("turn/start", { threadId: id, text: "stream n=1000 ms=10" });
  await page.locator(".virtual-line", { hasText: "word 100 " }).waitFor({ timeout: 45_000 });
  const before = await read();
  await page.waitForFunction(() => document.querySelector(".pane")?.textContent?.includes("word 900 "), undefined, {
    polling: 250,
    timeout: 45_000,
  });
  const after = await read();
  const share = (after.work - before.work) / (after.at - before.at);
  console.log(`the page worked ${(share * 100).toFixed(0)} % of ${(after.at - before.at).toFixed(1)} s`);
  expect(share).toBeLessThan(0.5);
}, 120_000);

test("they leave room for other work in a message of 300 kB that cannot be cut", async () => {
  const id = await startThread(stage, other);
  const page = await stage.page();
  await openThread(stage, page, id);
  const read = await meter(page);
  await other.call("turn/start", { threadId: id, text: "longline bytes=300000; stream n=600 ms=10" });
  await page.waitForFunction(() => document.querySelector(".pane")?.textContent?.includes("word 50 "), undefined, { polling: 250, timeout: 45_000 });
  const before = await read();
  await page.waitForFunction(() => document.querySelector(".pane")?.textContent?.includes("word 500 "), undefined, { polling: 250, timeout: 45_000 });
  const after = await read();
  const share = (after.work - before.work) / (after.at - before.at);
  console.log(`300 kB: the page worked ${(share * 100).toFixed(0)} % of ${(after.at - before.at).toFixed(1)} s`);
  // The page rests for as long as drawing took. The remainder is what the messages of the connection take.
  expect(share).toBeLessThan(0.7);
}, 120_000);

test("older turns are loaded as one goes up, and nothing moves", async () => {
  const id = await startThread(stage, other, "say first of all");
  await until(other, id, "idle");
  for (let n = 0; n < 26; n++) {
    await other.call("turn/start", { threadId: id, text: `say "turn ${n} says this"` });
    if (n % 5 === 4) {
      await until(other, id, "idle");
    }
  }
  const page = await stage.page();
  await openThread(stage, page, id);
  await page.locator(".virtual-line", { hasText: "turn 25 says" }).first().waitFor();
  await expect.poll(() => page.locator(".virtual-line", { hasText: "first of all" }).count()).toBe(0);
  await page.getByRole("feed").focus();
  for (let n = 0; n < 60 && (await page.locator(".virtual-line", { hasText: "first of all" }).count()) === 0; n++) {
    await page.keyboard.press("Home");
    await page.waitForTimeout(100);
  }
  await page.locator(".virtual-line", { hasText: "first of all" }).first().waitFor();
}, 120_000);
