/** Earlier messages are edited and sent again: in their place, in a fork, and after a rewind. */

import type { Client } from "@acpd/client";
import type { Locator, Page } from "playwright-core";
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

const box = (view: Page) => view.locator(".pane textarea");
const banner = (view: Page) => view.getByRole("group", { name: "Editing an earlier message" });
const said = (view: Page) => view.locator(".pane .th-user-text").allInnerTexts();

/** Starts a thread with three turns, and opens it. */
async function three(view: Page): Promise<string> {
  const id = await startThread(stage, other, "say first answer");
  for (const text of ["say second answer", "say third answer"]) {
    await until(other, id, "idle");
    await other.call("turn/start", { threadId: id, text });
  }
  await until(other, id, "idle");
  await openThread(stage, view, id);
  await expect.poll(() => said(view)).toEqual(["say first answer", "say second answer", "say third answer"]);
  return id;
}

/** Presses "Edit and resend" of a message, with a mouse. */
async function edit(message: Locator): Promise<void> {
  await message.hover();
  await message.getByRole("button", { name: "Edit and resend" }).click();
}

const message = (view: Page, text: string) => view.locator(".pane .th-user", { hasText: text });

test("a message is edited and sent in its place; the draft stays, and other clients see the same", async () => {
  const id = await three(page);
  await box(page).fill("half a thought");
  await edit(message(page, "second"));
  await expect.poll(() => box(page).inputValue()).toBe("say second answer");
  await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("TEXTAREA");
  await expect.poll(() => banner(page).innerText()).toContain("the turn after it");
  await shoot(page, "editing-desktop");
  await accessible(page);

  await page.keyboard.press("Escape");
  await expect.poll(() => banner(page).count()).toBe(0);
  await expect.poll(() => box(page).inputValue()).toBe("half a thought");

  await edit(message(page, "second"));
  await box(page).fill("say a better answer");
  await page.reload();
  await expect.poll(() => box(page).inputValue(), { message: "the editing outlives a reload" }).toBe("say a better answer");
  await banner(page).waitFor();
  await box(page).press("Enter");
  await expect.poll(() => said(page)).toEqual(["say first answer", "say a better answer"]);
  await expect.poll(() => box(page).inputValue()).toBe("half a thought");
  await until(other, id, "idle");
  const { thread } = await other.call("thread/read", { threadId: id, includeTurns: true });
  expect(thread.turns?.map((turn) => turn.id)).toEqual(["turn_1", "turn_4"]);
}, 60_000);

test("a message whose turn is older than the loaded ones is sent once that is loaded", async () => {
  const id = await startThread(stage, other, "say answer 1");
  for (let number = 2; number <= 12; number++) {
    await until(other, id, "idle");
    await other.call("turn/start", { threadId: id, text: `say answer ${number}` });
  }
  await until(other, id, "idle");
  await openThread(stage, page, id);
  await page.evaluate((threadId) => {
    localStorage.setItem("acpd.edits", JSON.stringify({ [threadId]: "turn_1" }));
    localStorage.setItem("acpd.drafts", JSON.stringify({ [`edit:${threadId}`]: "say another beginning" }));
  }, id);
  await page.reload();
  await expect.poll(() => box(page).inputValue()).toBe("say another beginning");
  // A window with room for more turns loads it by itself.
  const load = banner(page).getByRole("button", { name: "Load it" });
  await expect
    .poll(async () => {
      if (await load.isVisible()) await load.click({ timeout: 1000 }).catch(() => {});
      return banner(page).innerText();
    })
    .toContain("11 turns after it");
  await page.getByRole("button", { name: "Resend", exact: true }).click();
  await expect.poll(() => said(page)).toEqual(["say another beginning"]);
  await expect.poll(() => banner(page).count()).toBe(0);
}, 60_000);

test("the first message is edited with the keyboard, and the thread begins anew", async () => {
  const id = await startThread(stage, other, "say only answer");
  await until(other, id, "idle");
  await openThread(stage, page, id);
  await message(page, "only").waitFor();
  await message(page, "only").getByRole("button", { name: "Edit and resend" }).focus();
  await page.keyboard.press("Enter");
  await expect.poll(() => box(page).inputValue()).toBe("say only answer");
  await expect.poll(() => banner(page).getByRole("button", { name: "Edit in a fork" }).count()).toBe(0);
  await box(page).fill("say another beginning");
  await page.keyboard.press("Enter");
  await expect.poll(() => said(page)).toEqual(["say another beginning"]);
  await page.locator(".pane .th-agent", { hasText: "another beginning" }).waitFor();
});

test("while a turn runs, the message is sent once that is stopped", async () => {
  const id = await three(page);
  await say(page, "hang");
  await until(other, id, "running");
  await edit(message(page, "third"));
  await page.getByText("A turn is running. Stop it to send this.").waitFor();
  await page.keyboard.press("Enter");
  await page.locator(".pane-foot").getByRole("button", { name: "Stop", exact: true }).click();
  await page.locator(".pane-foot").getByRole("button", { name: "Stop now" }).click();
  await expect.poll(() => page.getByText("A turn is running.").count()).toBe(0);
  await box(page).press("Enter");
  await expect.poll(() => said(page)).toEqual(["say first answer", "say second answer", "say third answer"]);
  await expect.poll(() => banner(page).count()).toBe(0);
  await until(other, id, "idle");
  const { thread } = await other.call("thread/read", { threadId: id, includeTurns: true });
  expect(thread.turns?.map((turn) => turn.id)).toEqual(["turn_1", "turn_2", "turn_5"]);
}, 60_000);

test("a message is edited in a fork, and its thread stays as it is", async () => {
  const id = await three(page);
  await edit(message(page, "third"));
  await box(page).fill("say elsewhere");
  await banner(page).getByRole("button", { name: "Edit in a fork" }).click();
  await expect.poll(() => page.url()).not.toContain(id);
  await expect.poll(() => box(page).inputValue()).toBe("say elsewhere");
  await expect.poll(() => banner(page).count()).toBe(0);
  await sayToEnd(page, "say elsewhere");
  await expect.poll(() => said(page)).toEqual(["say first answer", "say second answer", "say elsewhere"]);
  await openThread(stage, page, id);
  await expect.poll(() => said(page)).toHaveLength(3);
});

test("a rewind gives the removed message back, or offers it where there is a draft", async () => {
  await three(page);
  const rewind = async (text: string) => {
    const foot = page.locator(".virtual-line", { has: page.locator(".th-turn-foot") }).nth(text === "second" ? 1 : 0);
    await foot.hover();
    await foot.getByRole("button", { name: "Rewind to here" }).click();
    await foot.getByRole("button", { name: "Remove" }).click();
  };
  await rewind("second");
  await expect.poll(() => box(page).inputValue()).toBe("say third answer");
  await rewind("first");
  await page.getByRole("button", { name: "Add it" }).click();
  await expect.poll(() => box(page).inputValue()).toBe("say third answer\n\nsay second answer");
});

test("on a phone, the button is behind that of the message", async () => {
  const phone = await stage.page({ size: PHONE });
  await three(phone);
  const one = message(phone, "third");
  await one.getByRole("button", { name: "More about this message" }).tap();
  await one.getByRole("button", { name: "Copy message" }).waitFor();
  await expect.poll(() => phone.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  await shoot(phone, "message-acts-phone");
  await one.getByRole("button", { name: "Edit and resend" }).tap();
  await expect.poll(() => box(phone).inputValue()).toBe("say third answer");
  await banner(phone).waitFor();
  await expect.poll(() => phone.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  await shoot(phone, "editing-phone");
  await accessible(phone);
  await box(phone).fill("say it on the phone");
  await phone.getByRole("button", { name: "Resend", exact: true }).tap();
  await expect.poll(() => said(phone)).toEqual(["say first answer", "say second answer", "say it on the phone"]);
});
