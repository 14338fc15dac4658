/** Questions on small windows and by keys; drafts and prompts that outlive their view. */

import type { Client } from "@acpd/client";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { connected, openThread, row, say, settled, startThread, until } from "./support/acts.ts";
import { accessible, PHONE, shoot, Stage } from "./support/browser.ts";
import { isInSight } from "./support/room.ts";

let stage: Stage;
let other: Client;

/** A command that is longer than any window. */
const LONG = Array.from({ length: 120 }, (_, n) => `echo this is line ${n} of a long command`).join(" && ");

beforeAll(async () => {
  stage = await Stage.set();
  other = await stage.daemon.client("other-program");
});
afterAll(() => stage?.end());

const card = (page: Page) => page.locator("[data-question]");
const answer = (page: Page, name: string) => page.locator(".pane-foot").getByRole("button", { name, exact: true });

async function waiting(command: string, name?: string): Promise<string> {
  const id = await startThread(stage, other, `permission kind=execute command='${command}'`, { name });
  await until(other, id, "waiting");
  return id;
}

/** Returns the elements in the pane's foot that scroll vertically. */
function scrollers(page: Page): Promise<string[]> {
  return page.locator(".pane").evaluate((pane) =>
    [...pane.querySelectorAll(".pane-foot, .pane-foot *, .virtual-scroller")]
      .filter((at) => at.checkVisibility({ visibilityProperty: true }) && !at.matches("textarea"))
      .filter((at) => at.scrollHeight > at.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(at).overflowY))
      .map((at) => at.className),
  );
}

for (const [name, size] of Object.entries({ phone: PHONE, "zoom 200 %": { width: 640, height: 400 } })) {
  test(`a long question is a sheet: ${name}`, async () => {
    const id = await waiting(LONG);
    const page = await stage.page({ size });
    await openThread(stage, page, id);
    await card(page).waitFor();
    await expect.poll(() => scrollers(page)).toEqual(["th-subject"]);
    for (const button of await card(page).locator(".th-answers button").all()) {
      await expect.poll(() => isInSight(button)).toBe(true);
    }
    await expect.poll(() => isInSight(page.getByRole("button", { name: "Stop" }))).toBe(true);
    await shoot(page, `question-sheet-${size.width}`);
    await accessible(page);
    // The conversation is there on request, and the question stays announced.
    await page.getByRole("button", { name: "Show the conversation" }).click();
    await expect.poll(() => page.evaluate(() => document.activeElement?.className)).toContain("th-folded");
    await page.locator(".virtual-line").first().waitFor();
    await expect.poll(() => isInSight(page.getByRole("button", { name: "Stop" }))).toBe(true);
    await accessible(page);
    await page.keyboard.press("Enter");
    await expect.poll(() => page.evaluate(() => document.activeElement?.hasAttribute("data-question"))).toBe(true);
    await answer(page, "Reject").click();
    await until(other, id, "idle");
    await page.locator(".virtual-line", { hasText: "rejected" }).first().waitFor();
  });
}

test("the buttons of a form are in sight, and its fields scroll", async () => {
  const id = await startThread(stage, other, "elicit");
  await until(other, id, "waiting");
  const page = await stage.page({ size: { width: 640, height: 320 } });
  await openThread(stage, page, id);
  await card(page).waitFor();
  await expect.poll(() => scrollers(page)).toEqual(["th-subject"]);
  const name = card(page).getByLabel(/Name/);
  await expect.poll(() => isInSight(name)).toBe(false);
  await expect.poll(() => isInSight(answer(page, "Send answer"))).toBe(true);
  await expect.poll(() => isInSight(page.getByRole("button", { name: "Stop" }))).toBe(true);
  // A field that is wrong is scrolled to.
  await answer(page, "Send answer").click();
  await expect.poll(() => isInSight(name)).toBe(true);
  await page.keyboard.type("Ann");
  await answer(page, "Send answer").click();
  await until(other, id, "idle");
});

test("in a wide window the answers and Stop are in sight as well", async () => {
  const id = await waiting(LONG);
  const page = await stage.page();
  await openThread(stage, page, id);
  await card(page).waitFor();
  for (const button of await card(page).locator(".th-answers button").all()) {
    await expect.poll(() => isInSight(button)).toBe(true);
  }
  await expect.poll(() => isInSight(page.getByRole("button", { name: "Stop" }))).toBe(true);
  // Pressing Stop in the folded composer presses it: nothing moves below the pointer.
  await page.getByRole("button", { name: "Stop" }).click();
  await until(other, id, "idle");
});

test("a question that arrives while the user writes is answered by one click, and what was written stays", async () => {
  const id = await startThread(stage, other);
  for (const size of [undefined, PHONE]) {
    const page = await stage.page(size && { size });
    await openThread(stage, page, id);
    await page.locator(".pane textarea").fill("half a thought");
    await page.locator(".pane textarea").focus();
    await other.call("turn/start", { threadId: id, text: "permission kind=execute command=make" });
    await answer(page, "Allow once").click();
    await until(other, id, "idle");
    await expect.poll(() => page.locator(".pane textarea").inputValue()).toBe("half a thought");
    await page.locator(".pane textarea").fill("");
  }
});

test("a question is answered by keys: w, its end, and a digit", async () => {
  const long = await waiting(LONG, "The long one");
  const page = await stage.page();
  await row(page, "The long one").waitFor();
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("prompt");
  await page.evaluate(() => (document.activeElement as HTMLElement).blur());
  await page.keyboard.press("w");
  await page.waitForURL(`**/threads/${long}`);
  await expect.poll(() => page.evaluate(() => document.activeElement?.hasAttribute("data-question"))).toBe(true);
  await shoot(page, "question-keys");
  // The end of the command was not in sight, so the digit only scrolls.
  await expect
    .poll(async () => {
      await page.keyboard.press("1");
      return page.locator("[aria-live]").allInnerTexts();
    }, { interval: 400 })
    .toContain("Scroll to the end of the request first.");
  expect((await other.call("thread/read", { threadId: long })).thread.status).toBe("waiting");
  await card(page).locator(".th-subject").evaluate((subject) => subject.scrollTo(0, subject.scrollHeight));
  await expect
    .poll(async () => {
      await page.keyboard.press("3");
      return (await other.call("thread/read", { threadId: long })).thread.status;
    }, { interval: 400 })
    .toBe("idle");
  await page.locator(".virtual-line", { hasText: "rejected" }).first().waitFor();
  // Nothing else waits, so the user can write on.
  await expect.poll(() => page.evaluate(() => document.activeElement?.className)).toContain("th-composer-area");
  await page.keyboard.press("Escape");
  const next = await waiting("ls", "The next one");
  await row(page, "The next one").locator(".live-waiting").waitFor();
  await page.keyboard.press("w");
  await page.waitForURL(`**/threads/${next}`);
  await expect.poll(() => page.evaluate(() => document.activeElement?.hasAttribute("data-question"))).toBe(true);
  await pressUntil(page, "1", next, "idle");
  await page.locator(".virtual-line", { hasText: "allowed (allow_once)" }).first().waitFor();
});

test("w leads to all that waits, oldest first, and an answer to what is asked next", async () => {
  const ids: string[] = [];
  for (const command of ["one", "two", "three"]) {
    ids.push(await waiting(`make ${command}`, `Walk ${command}`));
  }
  const page = await stage.page();
  await row(page, "Walk three").waitFor();
  await page.evaluate(() => (document.activeElement as HTMLElement).blur());
  for (const [at, id] of ids.entries()) {
    await page.keyboard.press("w");
    await page.waitForURL(`**/threads/${id}`);
    await expect.poll(() => asks(page)).toBe(true);
    // The second one is left for later.
    if (at !== 1) {
      await pressUntil(page, "1", id, "idle");
    }
  }
  // The last one of the round, behind which one is left: the key leads there again.
  await expect.poll(() => page.evaluate(() => document.activeElement?.matches(".th-composer-area, [role=feed]"))).toBe(true);
  await page.keyboard.press("Escape");
  await page.keyboard.press("w");
  await page.waitForURL(`**/threads/${ids[1]}`);
  await expect.poll(() => asks(page)).toBe(true);
  await page.locator(".pane-foot").getByRole("button", { name: "Allow once", exact: true }).click();
  await until(other, ids[1]!, "idle");
  // After the mouse as well, the user can write on.
  await expect.poll(() => page.evaluate(() => document.activeElement?.className)).toContain("th-composer-area");
});

/** Returns whether the question has the focus. */
const asks = (page: Page) => page.evaluate(() => document.activeElement?.hasAttribute("data-question"));

/** Presses a key while the question has the focus, until the thread is in a state: a key that comes too early answers nothing. */
async function pressUntil(page: Page, key: string, threadId: string, status: string): Promise<void> {
  await expect
    .poll(async () => {
      if (await asks(page)) {
        await page.keyboard.press(key);
      }
      return (await other.call("thread/read", { threadId })).thread.status;
    }, { interval: 400 })
    .toBe(status);
}

test("nothing moves when the question gets the focus, and no frame is around the conversation", async () => {
  const id = await waiting("make all", "Still");
  const page = await stage.page();
  await openThread(stage, page, id);
  await card(page).waitFor();
  const places = () => card(page).locator(".th-answers button").evaluateAll((all) => all.map((one) => JSON.stringify(one.getBoundingClientRect())));
  await settled(page.getByRole("feed"));
  const before = await places();
  await page.keyboard.press("w");
  await expect.poll(() => asks(page)).toBe(true);
  expect(await places()).toEqual(before);
  await pressUntil(page, "3", id, "idle");
  await page.keyboard.press("Escape");
  const feed = page.getByRole("feed");
  await expect.poll(() => feed.evaluate((at) => at.matches(":focus-visible"))).toBe(true);
  expect(await feed.evaluate((at) => getComputedStyle(at).outlineStyle)).toBe("none");
  await expect.poll(() => page.locator(".virtual-line.is-current > *").evaluate((at) => getComputedStyle(at).boxShadow)).toMatch(/ 2px 0px 0px 0px inset/);
});

test("a thread that opens has the focus in its conversation: Page Up scrolls", async () => {
  const id = await startThread(stage, other, `say "${Array.from({ length: 60 }, (_, n) => `line ${n}`).join("\n\n")}"`, { name: "Tall" });
  await until(other, id, "idle");
  const page = await stage.page();
  await row(page, "Tall").locator("a").click();
  await page.locator(".th-agent", { hasText: "line 59" }).first().waitFor();
  const top = () => page.getByRole("feed").evaluate((feed) => feed.scrollTop);
  await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute("role"))).toBe("feed");
  await settled(page.getByRole("feed"));
  const before = await top();
  await page.keyboard.press("PageUp");
  await expect.poll(top).toBeLessThan(before - 200);
});

test("Esc leaves the composer, and Esc Esc stops the agent", async () => {
  const id = await startThread(stage, other, "slow ms=600000");
  await until(other, id, "running");
  const page = await stage.page();
  await openThread(stage, page, id);
  await page.locator(".pane textarea").fill("half a thought");
  await page.keyboard.press("Escape");
  await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute("role"))).toBe("feed");
  await page.locator(".toast", { hasText: "Press Esc again" }).waitFor();
  // On a slow host the second stroke may come too late, and is the first one of two then.
  await expect
    .poll(async () => {
      await page.keyboard.press("Escape");
      return (await other.call("thread/read", { threadId: id })).thread.status;
    }, { interval: 400 })
    .toBe("idle");
  await expect.poll(() => page.locator(".pane textarea").inputValue()).toBe("half a thought");
});

test("after Esc Esc the focus is in the composer, so that one types on", async () => {
  const id = await startThread(stage, other, "slow ms=600000");
  await until(other, id, "running");
  const page = await stage.page();
  await openThread(stage, page, id);
  const inComposer = () => page.evaluate(() => document.activeElement?.matches(".th-composer-area") === true);
  // On a slow host the second stroke may come too late, and is the first one of two then.
  await expect
    .poll(async () => {
      await page.getByRole("feed").focus();
      await page.keyboard.press("Escape");
      await page.keyboard.press("Escape");
      return inComposer();
    }, { interval: 2_000 })
    .toBe(true);
  await until(other, id, "idle");
});

test("a new thread's prompt and a half-filled form survive other views, a reload, and are in a second tab", async () => {
  const page = await stage.page();
  await page.fill("#prompt", "a long task");
  await page.getByRole("link", { name: "Archive" }).click();
  await page.locator(".page").waitFor();
  await page.getByRole("link", { name: "New thread" }).click();
  await expect.poll(() => page.locator("#prompt").inputValue()).toBe("a long task");
  const tab = await page.context().newPage();
  await tab.goto(stage.url);
  await expect.poll(() => tab.locator("#prompt").inputValue()).toBe("a long task");
  await tab.fill("#prompt", "a longer task");
  await expect.poll(() => page.locator("#prompt").inputValue()).toBe("a longer task");

  const id = await startThread(stage, other, "elicit");
  await openThread(stage, page, id);
  await page.locator(".pane-foot").getByLabel(/Name/).first().fill("Ann");
  await page.reload();
  await expect.poll(() => page.locator(".pane-foot").getByLabel(/Name/).first().inputValue()).toBe("Ann");
  await openThread(stage, tab, id);
  await tab.locator(".pane-foot").getByLabel(/Name/).first().fill("Anna");
  await expect.poll(() => page.locator(".pane-foot").getByLabel(/Name/).first().inputValue()).toBe("Anna");
  await page.getByRole("button", { name: "Send answer" }).click();
  await page.locator(".virtual-line", { hasText: "elicited accept" }).first().waitFor();
});

test("a picture goes along with the first prompt", async () => {
  const page = await stage.page();
  await connected(page);
  await page.fill("#folder", stage.daemon.work);
  await page.fill("#prompt", "echo");
  await page.locator("#prompt").evaluate((area) => {
    const data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File([bytes], "shot.png", { type: "image/png" }));
    area.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  });
  await page.getByRole("list", { name: "Attached" }).waitFor();
  await shoot(page, "new-thread-picture");
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.locator(".virtual-line", { hasText: "2 blocks" }).first().waitFor();
  await page.locator(".side-new").click();
  await expect.poll(() => page.locator("#prompt").inputValue()).toBe("");
  await expect.poll(() => page.getByRole("list", { name: "Attached" }).count()).toBe(0);
});

test("a message into a connection that is lost says that the page reconnects", async () => {
  const id = await startThread(stage, other, "say ready");
  await until(other, id, "idle");
  const page = await stage.page();
  await page.clock.install();
  await openThread(stage, page, id);
  await page.locator(".pane textarea").waitFor();
  stage.cable.lose();
  await say(page, "say it arrived");
  // The page probes the connection, and drops it without a response.
  await page.clock.runFor(15_000);
  await page.locator(".th-composer-said", { hasText: "Reconnecting…" }).waitFor();
  await page.clock.runFor(15_000);
  await page.locator(".virtual-line", { hasText: "it arrived" }).nth(1).waitFor();
});
