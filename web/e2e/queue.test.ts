/** Messages that wait for the agent, and turns that do not end by themselves. */

import { stat } from "node:fs/promises";

import type { Client } from "@acpd/client";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { openThread, say, sayToEnd, startThread, until } from "./support/acts.ts";
import { accessible, PHONE, shoot, Stage } from "./support/browser.ts";

let stage: Stage;
let other: Client;
let page: Page;

beforeAll(async () => {
  stage = await Stage.set();
  other = await stage.daemon.client("other-program");
  page = await stage.page();
});
afterAll(() => stage?.end());

const queue = (from: Page = page) => from.getByRole("region", { name: "Queued messages" });
const texts = (from: Page = page) => queue(from).locator(".th-queue-text").allTextContents();
const button = (name: string) => queue().getByRole("button", { name, exact: true });

/** Opens a thread whose turn does not end, with two queued messages. */
async function busy(): Promise<string> {
  const id = await startThread(stage, other, "slow ms=600000");
  await openThread(stage, page, id);
  await page.locator(".pane-foot").getByRole("button", { name: "Stop", exact: true }).waitFor();
  await say(page, "say the first");
  await queue().getByText("say the first").waitFor();
  await say(page, "say the second");
  await queue().getByText("say the second").waitFor();
  return id;
}

test("what waits is read, edited and put in order on every device, and after a reload", async () => {
  const id = await busy();
  const phone = await stage.page({ size: PHONE });
  await phone.goto(`${stage.url}/threads/${id}`);
  await queue(phone).getByText("say the second").waitFor();
  await expect.poll(() => texts(phone)).toEqual(["say the first", "say the second"]);
  await shoot(phone, "queue-phone");
  await accessible(phone);
  await queue().getByRole("button", { name: "Edit" }).first().click();
  await queue().getByRole("textbox").fill("say it better");
  await queue().getByRole("textbox").press("Control+Enter");
  await queue(phone).getByText("say it better").waitFor();
  await queue().getByRole("button", { name: "Move down" }).first().click();
  await expect.poll(() => texts(phone)).toEqual(["say the second", "say it better"]);
  await page.reload();
  await queue().getByText("say it better").waitFor();
  await expect.poll(texts).toEqual(["say the second", "say it better"]);
  await shoot(page, "queue-desktop");
  await queue(phone).getByRole("button", { name: "Remove" }).first().click();
  await expect.poll(texts).toEqual(["say it better"]);
  await phone.close();
});

test("Stop pauses the queue, and the user continues or clears it", async () => {
  const id = await busy();
  await page.locator(".pane-foot").getByRole("button", { name: "Stop", exact: true }).click();
  await until(other, id, "idle");
  await queue().getByText("Queue paused · 2 waiting").waitFor();
  await expect.poll(() => page.locator(".th-agent").count(), { message: "nothing was started" }).toBe(0);
  await button("Send next").click();
  await page.locator(".th-agent", { hasText: "the second" }).last().waitFor();
  await expect.poll(() => queue().count()).toBe(0);
});

test("a paused queue is cleared, and nothing of it is sent", async () => {
  const id = await busy();
  await page.locator(".pane-foot").getByRole("button", { name: "Stop", exact: true }).click();
  await queue().getByText("Queue paused · 2 waiting").waitFor();
  await button("Clear").click();
  await expect.poll(() => queue().count()).toBe(0);
  await until(other, id, "idle");
  expect((await other.call("thread/read", { threadId: id })).thread.queuedTurnIds).toEqual([]);
  await expect.poll(() => page.locator(".th-user").allInnerTexts()).toHaveLength(1);
});

test("an agent that does not stop can be ended", async () => {
  const id = await startThread(stage, other, "hang");
  await openThread(stage, page, id);
  await page.locator(".pane-foot").getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByRole("button", { name: "Stop now" }).click();
  await until(other, id, "idle");
  await page.locator(".th-turn-stop", { hasText: "Stopped" }).waitFor();
  await expect.poll(() => page.locator(".th-turn-error").count(), { message: "the user's stop is no failure" }).toBe(0);
});

test("a turn that failed is tried again or edited", async () => {
  const id = await startThread(stage, other, "say before; error");
  await openThread(stage, page, id);
  await until(other, id, "idle");
  await page.getByRole("button", { name: "Edit as a new message" }).click();
  await expect.poll(() => page.locator(".pane textarea").inputValue()).toBe("say before; error");
  await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("TEXTAREA");
  await page.locator(".pane textarea").fill("half a thought");
  await page.getByRole("button", { name: "Edit as a new message" }).click();
  await page.getByRole("button", { name: "Add it" }).click();
  await expect.poll(() => page.locator(".pane textarea").inputValue()).toBe("half a thought\n\nsay before; error");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect.poll(() => page.locator(".th-user", { hasText: "say before; error" }).count()).toBe(2);
});

test("a prompt with a picture is edited with it, also after a reload; so is one that met a limit", async () => {
  const id = await startThread(stage, other, "say before");
  await until(other, id, "idle");
  await openThread(stage, page, id);
  const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const picture = { name: "dot.png", mimeType: "image/png", buffer: Buffer.from(png, "base64") };
  const attached = page.locator(".th-attached-file");
  for (const [text, end] of [["error message=overloaded", "Failed"], ["stop reason=max_tokens", "limit of tokens"]] as const) {
    await page.locator(".pane textarea").fill(text);
    await page.locator(".pane input[type=file]").setInputFiles(picture);
    await attached.waitFor();
    await page.locator(".pane textarea").press("Enter");
    await page.locator(".th-turn-stop", { hasText: end }).waitFor();
    await page.reload();
    await page.getByRole("button", { name: "Edit as a new message" }).click();
    await attached.waitFor();
    await expect.poll(() => page.locator(".pane textarea").inputValue()).toBe(text);
    await page.getByRole("button", { name: /^Remove image/ }).click();
    await page.locator(".pane textarea").fill("");
  }
});

test("a file that no message has room for is sent before it, and the agent reads it at its path", async () => {
  const id = await startThread(stage, other, "say before");
  await until(other, id, "idle");
  await openThread(stage, page, id);
  const buffer = Buffer.alloc(3 * 1024 * 1024, "a");
  const attached = page.locator(".th-attached-file");
  await page.locator(".pane input[type=file]").setInputFiles({ name: "large log.txt", mimeType: "text/plain", buffer });
  await expect.poll(() => attached.textContent()).toContain("3.1 MB, as a file");
  await sayToEnd(page, "say seen");
  await expect.poll(() => attached.count()).toBe(0);
  await expect.poll(() => page.locator(".th-user .th-attachment").last().textContent()).toMatch(/^\s*large log\.txt\s*3\.1 MB$/);
  const { thread } = await other.call("thread/read", { threadId: id, includeTurns: true, limit: 1 });
  const sent = JSON.stringify(thread.turns);
  expect(sent.length).toBeLessThan(20_000);
  const [, path] = /"uri":"file:\/\/([^"]+)"/.exec(sent) ?? [];
  const { size } = await stat(decodeURIComponent(path ?? ""));
  expect(size).toBe(buffer.length);
});

test("a large file goes with the first message of a new thread, and a fork sends it again", async () => {
  await page.goto(stage.url);
  await page.locator(".home-form").waitFor();
  await page.locator("#folder").fill(stage.daemon.work);
  await page.locator("#prompt").fill("error message=overloaded");
  const buffer = Buffer.alloc(3 * 1024 * 1024, "a");
  await page.locator(".home-form input[type=file]").setInputFiles({ name: "large log.txt", mimeType: "text/plain", buffer });
  await expect.poll(() => page.locator(".th-attached-file").textContent()).toContain("3.1 MB, as a file");
  await page.locator("#prompt").press("Enter");
  await page.waitForURL("**/threads/*");
  await page.locator(".th-turn-error").waitFor();
  await expect.poll(() => page.locator(".th-user .th-attachment").textContent()).toMatch(/^\s*large log\.txt\s*3\.1 MB$/);
  await expect.poll(() => page.locator(".pane textarea").inputValue()).toBe("");

  const origin = page.url();
  await page.locator(".virtual-line", { has: page.locator(".th-turn-foot") }).hover();
  await page.getByRole("button", { name: "Fork from here" }).click();
  await expect.poll(() => page.url()).not.toBe(origin);
  await page.getByRole("button", { name: "Try again", exact: true }).click();
  await expect.poll(() => page.locator(".th-turn-error").count()).toBe(2);
  await expect.poll(() => page.locator(".th-user .th-attachment").count()).toBe(2);
});

test("a restart keeps what was queued, and the agent continues when the user wants that", async () => {
  const id = await busy();
  await stage.daemon.kill("SIGTERM");
  await stage.daemon.launch();
  await page.locator(".th-turn-error", { hasText: "acpd was restarted while this turn was running" }).waitFor();
  const unsent = page.getByRole("group", { name: "Message that was not sent" });
  await unsent.getByText("say the second").waitFor();
  await page.reload();
  await unsent.getByText("say the first").waitFor();
  await unsent.getByText("say the second").waitFor();
  await page.getByRole("button", { name: "Send", exact: true }).first().click();
  await page.locator(".th-agent", { hasText: "the second" }).last().waitFor();
  await until(await stage.daemon.client("again"), id, "idle");
});

test("a turn that a restart broke off is continued in the browser", async () => {
  const client = await stage.daemon.client("breaker");
  const id = await startThread(stage, client, "say before; slow ms=600000");
  await openThread(stage, page, id);
  await page.locator(".th-agent", { hasText: "before" }).waitFor();
  await stage.daemon.kill("SIGTERM");
  await stage.daemon.launch();
  const go = page.getByRole("button", { name: "Continue", exact: true });
  await go.waitFor();
  await page.reload();
  await go.click();
  await page.locator(".th-user", { hasText: "Continue" }).waitFor();
  await expect.poll(() => go.count()).toBe(0);
});

test("reading an idle thread starts no agent", async () => {
  const again = await stage.daemon.client("reader");
  const id = await startThread(stage, again, "say hello");
  await until(again, id, "idle");
  await stage.daemon.kill("SIGTERM");
  await stage.daemon.launch();
  const reader = await stage.daemon.client("reader");
  await openThread(stage, page, id);
  await page.locator(".th-agent", { hasText: "hello" }).waitFor();
  expect((await reader.call("agent/running", {})).data).toEqual([]);
  // Nor does reading its log.
  await page.goto(`${stage.url}/threads/${id}/policy`);
  await page.getByText("No decisions yet.").waitFor();
  expect((await reader.call("agent/running", {})).data).toEqual([]);
  await openThread(stage, page, id);
  await say(page, "say again");
  await page.locator(".th-agent", { hasText: "again" }).last().waitFor();
});

test("a thread tells the same story live and after a reload: notices, and who allowed what", async () => {
  const client = await stage.daemon.client("teller");
  const id = await startThread(stage, client);
  await openThread(stage, page, id);
  await say(page, "permission kind=execute command=make; say done");
  await page.locator(".pane-foot").getByRole("button", { name: "Allow once", exact: true }).click();
  await page.locator(".pane .th-turn-foot").waitFor({ state: "attached" });
  await sayToEnd(page, "say before; crash");
  // What the agent wrote is inside the error, which no notice repeats.
  const error = page.locator(".th-turn-error");
  await error.getByText("What the agent wrote before it ended").click();
  await error.locator("pre", { hasText: "crash" }).waitFor();
  await error.getByText("What the agent wrote before it ended").click();
  await error.locator("pre").waitFor({ state: "detached" });
  await expect.poll(() => page.locator(".th-notice", { hasText: "exited" }).count()).toBe(0);
  await page.locator(".th-decision", { hasText: "Allowed by owner (web)" }).waitFor();
  const story = () => page.locator(".virtual-line").allTextContents();
  await expect.poll(async () => (await story()).filter((line) => line.includes("Failed")).length).toBe(1);
  const live = await story();
  await page.reload();
  await page.locator(".th-decision", { hasText: "Allowed by owner (web)" }).waitFor();
  await expect.poll(story).toEqual(live);
});
