/** Sharing a thread by link: the dialog, and the page of a reader. */

import type { Client } from "@acpd/client";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { openThread, startThread, until } from "./support/acts.ts";
import { accessible, PHONE, shoot, Stage } from "./support/browser.ts";
import { beyond } from "./support/room.ts";

let stage: Stage;
let other: Client;

beforeAll(async () => {
  stage = await Stage.set();
  other = await stage.daemon.client("other-program");
});
afterAll(() => stage?.end());

async function link(threadId: string): Promise<{ id: string; url: string; secret: string }> {
  const { share, secret } = await other.call("thread/share/create", { threadId });
  return { id: share.id, url: `${stage.url}/#share=${secret}`, secret };
}

/** Records the errors of the app protocol that a page receives. */
function refusals(page: Page): string[] {
  const refused: string[] = [];
  page.on("websocket", (socket) =>
    socket.on("framereceived", ({ payload }) => {
      if (/"error":\{"code"/.test(String(payload))) {
        refused.push(String(payload));
      }
    }),
  );
  return refused;
}

/** Opens a link in a browser without a session. */
async function read(url: string, size?: { width: number; height: number }): Promise<{ page: Page; refused: string[] }> {
  const page = await stage.page({ signIn: false, size });
  const refused = refusals(page);
  await page.goto("about:blank");
  await page.goto(url);
  return { page, refused };
}

const note = (page: Page) => page.locator(".shared-note", { hasText: /Shared with acpd.* Read-only, until/ });

test("a user shares a thread in the dialog, and a reader without a token reads it", async () => {
  const id = await startThread(stage, other, "say hello", { name: "To be read" });
  await until(other, id, "idle");
  const user = await stage.page();
  await openThread(stage, user, id);
  await user.locator(".view-head").getByRole("button", { name: "More about To be read" }).click();
  await user.getByRole("menuitem", { name: "Share…" }).click();
  const dialog = user.getByRole("dialog", { name: "Share thread" });
  await dialog.getByLabel("Expires after").selectOption("1 day");
  await dialog.getByLabel("Name", { exact: true }).fill("for Bob");
  await dialog.getByRole("button", { name: "Create link" }).click();
  const url = await dialog.getByLabel("New link").inputValue();
  expect(url).toMatch(new RegExp(`^${stage.url}/#share=acpd_share_[0-9a-f]{16}_[0-9a-f]{64}$`));
  await dialog.getByRole("listitem").filter({ hasText: "for Bob" }).waitFor();
  await accessible(user);
  await shoot(user, "share-dialog");
  const { data } = await other.call("thread/share/list", { threadId: id });
  expect(data).toHaveLength(1);
  expect(data[0]!.expiresAt - data[0]!.createdAt).toBe(24 * 3_600_000);

  const { page, refused } = await read(url);
  await note(page).waitFor();
  await page.locator(".th-agent").first().waitFor();
  expect(page.url()).toBe(`${stage.url}/threads/${id}#shared=${data[0]!.id}`);
  const secret = url.split("#share=")[1]!;
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]));
  expect(kept).not.toContain(secret);
  // Nothing to write with, nothing to go to.
  for (const absent of [".th-composer-area", "#sidebar", ".drawer-button", ".th-go-on", ".banner"]) {
    await expect.poll(() => page.locator(absent).count(), { message: absent }).toBe(0);
  }
  await page.locator(".view-head h1", { hasText: "To be read" }).waitFor();
  await expect.poll(() => page.locator(".view-sub time").count()).toBe(1);
  // The address is of no use to others, so the page copies the link.
  // The daemon's headers forbid pages to read the clipboard.
  await page.evaluate(() => {
    navigator.clipboard.writeText = async (text) => void Object.assign(window, { copied: text });
  });
  await note(page).getByRole("button", { name: "Copy link" }).click();
  await expect.poll(() => page.evaluate(() => (window as unknown as { copied?: string }).copied)).toBe(`${stage.url}/threads/${id}#share=${secret}`);
  await page.locator(".view-head").getByRole("button", { name: "More about To be read" }).click();
  await expect.poll(() => page.getByRole("menuitem").allInnerTexts()).toEqual(["Copy as Markdown", "Export…", "Print…"]);
  await page.getByRole("menuitem", { name: "Export…" }).click();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Markdown" }).click()]);
  expect(download.suggestedFilename()).toBe("To be read.md");
  for (const key of ["n", "j", "k", "?", "Control+k", "Escape", "Escape"]) {
    await page.keyboard.press(key);
  }
  expect(page.url()).toContain(`/threads/${id}#shared=`);
  await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
  // The reader follows along, also after a reload.
  await page.reload();
  await note(page).waitFor();
  await expect.poll(() => note(page).getByRole("button", { name: "Copy link" }).count()).toBe(0);
  await other.call("turn/start", { threadId: id, text: "say again please" });
  await page.locator(".th-user", { hasText: "say again please" }).waitFor();
  await accessible(page);
  await shoot(page, "shared-thread");
  expect(refused).toEqual([]);

  // Revoked in the dialog: the open page says so, and so does the link.
  await dialog.getByRole("button", { name: /^Revoke for Bob/ }).click();
  await page.getByRole("alert").filter({ hasText: "This link has expired or was revoked." }).waitFor();
  await expect.poll(() => page.locator("#token").count()).toBe(0);
  await accessible(page);
  const again = await read(url);
  await again.page.getByRole("alert").filter({ hasText: "This link has expired or was revoked." }).waitFor();
});

test("a reader begins at the beginning, also of a thread with several pages of turns", async () => {
  const id = await startThread(stage, other, "say the first answer", { name: "Long" });
  await until(other, id, "idle");
  for (let turn = 2; turn <= 15; turn += 1) {
    await other.call("turn/start", { threadId: id, text: `say ${"words of a long answer ".repeat(20)} ${turn}` });
    await until(other, id, "idle");
  }
  const { page } = await read((await link(id)).url);
  await page.locator(".th-user", { hasText: "say the first answer" }).waitFor();
  await expect.poll(() => page.locator(".virtual-scroller").evaluate((list) => list.scrollTop)).toBe(0);
});

test("a reader on a phone sees a question that waits, without buttons", async () => {
  const id = await startThread(stage, other, "permission kind=execute command='make install'");
  await until(other, id, "waiting");
  const { page, refused } = await read((await link(id)).url, PHONE);
  await note(page).waitFor();
  // The conversation stays in sight until the reader wants to see the question.
  await page.locator(".th-user").first().waitFor();
  const question = page.locator("[data-question]");
  await expect.poll(() => question.count()).toBe(0);
  await page.getByRole("button", { name: /Waiting for an answer: / }).click();
  await question.waitFor();
  await question.getByText("make install").first().waitFor();
  await question.getByText("Waiting for an answer.").waitFor();
  await expect.poll(() => question.locator(".th-answers, .button.primary, .button.danger").count()).toBe(0);
  await expect.poll(() => page.getByRole("button", { name: /Allow|Reject|Stop/ }).count()).toBe(0);
  await expect.poll(() => beyond(page)).toEqual([]);
  await accessible(page);
  await shoot(page, "shared-question-phone");
  const read_ = await other.call("thread/read", { threadId: id, includeTurns: true });
  await other.call("turn/interrupt", { threadId: id, turnId: read_.thread.turns!.at(-1)!.id! });
  await question.waitFor({ state: "detached" });
  expect(refused).toEqual([]);
});

test("a link signs nobody out: two links and the user's own pages are open side by side", async () => {
  const [one, two] = [await startThread(stage, other, "say one"), await startThread(stage, other, "say two")];
  const user = await stage.page();
  await user.locator("#sidebar").waitFor();
  const tabs: Page[] = [];
  for (const threadId of [one, two, one]) {
    const tab = await user.context().newPage();
    tab.setDefaultTimeout(15_000);
    await tab.goto((await link(threadId)).url);
    await tab.locator(`[data-thread="${threadId}"]`).waitFor();
    tabs.push(tab);
  }
  // The same link in another tab uses the same session.
  const known = await link(two);
  for (let times = 0; times < 2; times++) {
    const tab = await user.context().newPage();
    tab.setDefaultTimeout(15_000);
    await tab.goto(known.url);
    await tab.locator(`[data-thread="${two}"]`).waitFor();
    tabs.push(tab);
  }
  const cookies = (await user.context().cookies()).map(({ name }) => name.replace(/_\d+/, ""));
  expect(cookies.filter((name) => name.startsWith("acpd_share"))).toHaveLength(4);
  expect(cookies.filter((name) => name === "acpd_session")).toHaveLength(1);
  for (const tab of tabs) {
    await tab.reload();
    await note(tab).waitFor();
  }
  await user.reload();
  await user.locator("#sidebar").waitFor();
  await expect.poll(() => note(user).count()).toBe(0);
  // In a tab that shows acpd already, only the end of the address changes.
  await user.goto(known.url);
  await note(user).waitFor();
});

test("a link of a deleted thread, and an address without its session, explain themselves", async () => {
  const id = await startThread(stage, other, "say gone");
  await until(other, id, "idle");
  const { url, id: share } = await link(id);
  const { page } = await read(url);
  await note(page).waitFor();
  await other.call("thread/delete", { threadId: id });
  await page.getByRole("alert").filter({ hasText: "This link has expired or was revoked." }).waitFor();
  const stranger = await read(`${stage.url}/threads/${id}#shared=${share}`);
  await stranger.page.getByRole("alert").filter({ hasText: "Open the link again" }).waitFor();
  const odd = await read(`${stage.url}/#share=nonsense`);
  await odd.page.getByRole("alert").filter({ hasText: "This link has expired or was revoked." }).waitFor();
});
