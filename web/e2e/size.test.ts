/** Long threads and fast ones. The bounds are the requirement's; the figures are printed. */

import type { Client } from "@acpd/client";
import { afterAll, beforeAll, expect, test } from "vitest";

import { openThread, startThread, until } from "./support/acts.ts";
import { endBrowser, Stage } from "./support/browser.ts";

let stage: Stage;
let other: Client;

beforeAll(async () => {
  stage = await Stage.set();
  other = await stage.daemon.client();
});
afterAll(async () => {
  await stage.end();
  await endBrowser();
});

test("a thread of 10,000 items opens within a second, and has few of them in the page", async () => {
  const steps = Array.from({ length: 5000 }, (_, n) => `say "number ${n}"; tool kind=read`);
  const id = await startThread(stage, other, steps.join("; "));
  await until(other, id, "idle");
  const page = await stage.page();
  await page.locator(".row").first().waitFor();
  const took = await page.evaluate(async () => {
    const began = performance.now();
    document.querySelector<HTMLElement>(".row-link")!.click();
    while (!document.querySelector(".pane .virtual-line")) {
      await new Promise((next) => requestAnimationFrame(next));
    }
    return performance.now() - began;
  });
  const lines = await page.locator(".virtual-line").count();
  console.log(`10,000 items opened in ${Math.round(took)} ms, ${lines} lines in the page`);
  expect(await page.getByRole("feed").evaluate((el) => el.scrollHeight)).toBeGreaterThan(100_000);
  expect(lines).toBeLessThan(100);
  expect(took).toBeLessThan(1000);
  await page.getByRole("feed").focus();
  await page.keyboard.press("Home");
  await page.locator(".virtual-line", { hasText: "number 0" }).first().waitFor();
  await page.keyboard.press("End");
  await page.locator(".virtual-line", { hasText: "number 4999" }).first().waitFor();
});

test("100 deltas a second cost less than half a core", async () => {
  const id = await startThread(stage, other);
  const page = await stage.page();
  await openThread(stage, page, id);
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  const busy = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    const of = (name: string) => metrics.find((metric) => metric.name === name)!.value;
    return { task: of("TaskDuration"), at: of("Timestamp") };
  };
  await other.call("turn/start", { threadId: id, text: "stream n=1000 ms=10" });
  await page.locator(".virtual-line", { hasText: "word 100 " }).waitFor();
  const before = await busy();
  await page.waitForFunction(() => document.querySelector(".pane")?.textContent?.includes("word 900 "));
  const after = await busy();
  const share = (after.task - before.task) / (after.at - before.at);
  console.log(`the page was busy ${(share * 100).toFixed(0)} % of ${(after.at - before.at).toFixed(1)} s`);
  expect(share).toBeLessThan(0.5);
});

test("older turns are loaded as one goes up, and nothing moves", async () => {
  const id = await startThread(stage, other, "say first of all");
  await until(other, id, "idle");
  for (let n = 0; n < 70; n++) {
    await other.call("turn/start", { threadId: id, text: `say "turn ${n} says this"` });
    await until(other, id, "idle");
    // The daemon takes 60 requests in 10 s.
    await new Promise((next) => setTimeout(next, 350));
  }
  const page = await stage.page();
  await openThread(stage, page, id);
  await page.locator(".virtual-line", { hasText: "turn 69 says" }).first().waitFor();
  await page.getByRole("feed").focus();
  for (let n = 0; n < 60 && (await page.locator(".virtual-line", { hasText: "first of all" }).count()) === 0; n++) {
    await page.keyboard.press("Home");
    await page.waitForTimeout(100);
  }
  await page.locator(".virtual-line", { hasText: "first of all" }).first().waitFor();
}, 120_000);
