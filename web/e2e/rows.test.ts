/** Waiting threads in lists: what they want, and answers without opening them. */

import type { Client } from "@acpd/client";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";

import { row, startThread, until } from "./support/acts.ts";
import { accessible, PHONE, shoot, Stage } from "./support/browser.ts";

let stage: Stage;
let other: Client;

beforeAll(async () => {
  stage = await Stage.set();
});
// A connection may send 60 requests in 10 seconds.
beforeEach(async () => {
  other = await stage.daemon.client("other-program");
});
afterEach(() => other.close());
afterAll(() => stage?.end());

async function waiting(name: string, what: string): Promise<string> {
  const id = await startThread(stage, other, `permission ${what}`, { name });
  await until(other, id, "waiting");
  return id;
}

/** Returns the last answer of a thread: what the agent was told. */
async function told(threadId: string): Promise<string> {
  await until(other, threadId, "idle");
  const { thread } = await other.call("thread/read", { threadId, includeTurns: true });
  const said = (thread.turns ?? []).flatMap((turn) => turn.items ?? []).filter(({ type }) => type === "agentMessage");
  return said.map((item) => ("text" in item ? item.text : "")).join("");
}

const answer = (page: Page, name: string, label: string) => row(page, name).locator(".row-answers").getByRole("button", { name: label });

for (const dark of [false, true]) {
  test(`a waiting row says what it wants, and is answered by one press: ${dark ? "dark" : "light"}`, async () => {
    const one = await waiting("Builder", "kind=execute command='echo all'");
    const two = await waiting("Reader", "kind=read path=/etc/hostname");
    const page = await stage.page({ dark });
    await expect.poll(() => row(page, "Builder").locator(".row-question").innerText()).toBe("Run echo all");
    await expect.poll(() => row(page, "Reader").locator(".row-question").innerText()).toBe("Read /etc/hostname");
    await answer(page, "Builder", "Allow once").hover();
    await shoot(page, `rows-${dark ? "dark" : "light"}`);
    await accessible(page);
    await answer(page, "Builder", "Allow once").click();
    await row(page, "Builder").locator(".row-question").waitFor({ state: "detached" });
    await expect.poll(() => told(one)).toContain("allowed");
    await answer(page, "Reader", "Reject").click();
    await expect.poll(() => told(two)).toContain("rejected");
    await page.context().close();
  });
}

test("the digits of the card answer the row that has the focus, which moves to the next question", async () => {
  const one = await waiting("By key one", "kind=execute command='echo one'");
  const two = await waiting("By key two", "kind=execute command='echo two'");
  const page = await stage.page();
  await answer(page, "By key one", "Reject").waitFor();
  await answer(page, "By key two", "Reject").waitFor();
  await row(page, "By key one").locator(".row-link").focus();
  // An always is not for a row.
  await page.keyboard.press("2");
  await expect.poll(() => page.locator("[aria-live]").allInnerTexts()).toContain("Open the thread for this answer.");
  const digit = await answer(page, "By key one", "Reject").getAttribute("aria-keyshortcuts");
  // Nothing is answered in the moment in which rows move.
  await expect.poll(() => answer(page, "By key one", "Reject").getAttribute("aria-disabled")).toBeNull();
  await page.keyboard.press(digit!);
  await expect.poll(() => told(one)).toContain("rejected");
  await expect.poll(() => page.evaluate(() => document.activeElement?.closest("[data-thread]")?.getAttribute("data-thread"))).toBe(two);
  await row(page, "By key one").locator(".row-question").waitFor({ state: "detached" });
  await expect.poll(() => answer(page, "By key two", "Allow once").getAttribute("aria-disabled")).toBeNull();
  await page.keyboard.press("1");
  await expect.poll(() => told(two)).toContain("allowed");
});

const LONG = `echo ${"x".repeat(500)}`;
const TRICKS = { "a long command": LONG, "a second line": "'echo hello\nrm -rf /'", "a turned order": "'echo \u202E hello'", "a hidden space": "'git pu\u200Bsh'" };

for (const [name, command] of Object.entries(TRICKS)) {
  test(`a row that cannot show the whole request leads to it: ${name}`, async () => {
    const id = await waiting(`Trick ${name}`, `kind=execute command=${command}`);
    const page = await stage.page();
    await answer(page, `Trick ${name}`, "Open").waitFor();
    await expect.poll(() => row(page, `Trick ${name}`).getByRole("button", { name: "Allow" }).count()).toBe(0);
    await expect
      .poll(async () => (await row(page, `Trick ${name}`).locator(".row-wish").allInnerTexts()).join(" "))
      .not.toMatch(/[\n\u202E\u200B]/);
    await row(page, `Trick ${name}`).locator(".row-link").press("1");
    await answer(page, `Trick ${name}`, "Open").click();
    await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute("data-question") != null)).toBe(true);
    const { thread } = await other.call("thread/read", { threadId: id });
    expect(thread.status).toBe("waiting");
    // A digit first scrolls to the end of a request that is not in sight.
    await expect
      .poll(async () => {
        await page.keyboard.press("3");
        return (await other.call("thread/read", { threadId: id })).thread.status;
      })
      .toBe("idle");
  });
}

/** Moves a finger over the page, from one point by some steps, and lifts it. */
async function drag(page: Page, from: { x: number; y: number }, steps: readonly (readonly [number, number])[], lift = true) {
  const session = await page.context().newCDPSession(page);
  const touch = (type: "touchStart" | "touchMove" | "touchEnd", points: { x: number; y: number }[]) =>
    session.send("Input.dispatchTouchEvent", { type, touchPoints: points });
  await touch("touchStart", [from]);
  for (const [dx, dy] of steps) {
    await touch("touchMove", [{ x: from.x + dx, y: from.y + dy }]);
  }
  if (lift) {
    await touch("touchEnd", []);
  }
  return () => touch("touchEnd", []);
}

const RIGHT = [10, 30, 60, 90, 120, 140].map((dx) => [dx, 0] as const);
const LEFT = RIGHT.map(([dx]) => [-dx, 0] as const);

for (const place of ["home", "drawer"]) {
  test(`on a phone a swipe answers: ${place}`, async () => {
    const one = await waiting(`Right ${place}`, "kind=execute command='echo right'");
    const two = await waiting(`Left ${place}`, "kind=execute command='echo left'");
    const page = await stage.page({ size: PHONE });
    if (place === "drawer") {
      await page.getByRole("button", { name: /^Threads/ }).click();
      await expect.poll(() => page.locator("#sidebar").evaluate((side) => side.getAnimations().length)).toBe(0);
    }
    const list = page.locator(place === "home" ? ".home-waiting" : ".side-list");
    const at = async (name: string) => {
      const found = list.locator(".row", { hasText: name });
      await expect.poll(() => found.getByRole("button", { name: "Allow once" }).getAttribute("aria-disabled")).toBeNull();
      const { x, y, width } = (await found.locator(".row-question").boundingBox())!;
      return { found, point: { x: x + width / 2, y: y + 5 } };
    };
    const right = await at(`Right ${place}`);
    // Half of the way is not an answer, nor is a swipe that turns into scrolling.
    await drag(page, right.point, RIGHT.slice(0, 3));
    await drag(page, right.point, [...RIGHT, [140, 60], [140, 70]]);
    const lift = await drag(page, right.point, RIGHT, false);
    await expect.poll(() => right.found.getAttribute("data-swipe-label")).toBe("Release: Allow once");
    await shoot(page, `rows-swipe-${place}`);
    expect((await other.call("thread/read", { threadId: one })).thread.status).toBe("waiting");
    await lift();
    await expect.poll(() => told(one)).toContain("allowed");
    // Then the other row moves, and takes answers only after a while.
    await right.found.locator(".row-question").waitFor({ state: "detached" });
    await drag(page, (await at(`Left ${place}`)).point, LEFT);
    await expect.poll(() => told(two)).toContain("rejected");
    await accessible(page);
    // A swipe opens nothing.
    expect(new URL(page.url()).pathname).toBe("/");
  });
}

test("on a phone a short swipe reveals the buttons, a tap on which answers; what may do harm is opened", async () => {
  const one = await waiting("Tapped", "kind=execute command='echo tapped'");
  const two = await waiting("Grave", "kind=execute command='git push --force'");
  const page = await stage.page({ size: PHONE });
  const found = (name: string) => page.locator(".home-waiting .row", { hasText: name });
  const button = found("Tapped").getByRole("button", { name: "Allow once" });
  const middle = async (name: string) => {
    const { x, y, width } = (await found(name).locator(".row-question").boundingBox())!;
    return { x: x + width / 2, y: y + 5 };
  };
  await expect.poll(() => button.getAttribute("aria-disabled")).toBeNull();
  await drag(page, await middle("Tapped"), RIGHT.slice(0, 3));
  await expect.poll(async () => (await button.boundingBox())!.height).toBeGreaterThanOrEqual(44);
  await expect.poll(() => button.getAttribute("aria-disabled")).toBeNull();
  await shoot(page, "rows-revealed");
  await accessible(page);
  expect((await other.call("thread/read", { threadId: one })).thread.status).toBe("waiting");
  await button.tap();
  await expect.poll(() => told(one)).toContain("allowed");
  await found("Tapped").waitFor({ state: "detached" });
  // One stroke to the right opens the question.
  await expect.poll(() => found("Grave").getByRole("button", { name: "Reject" }).getAttribute("aria-disabled")).toBeNull();
  await drag(page, await middle("Grave"), RIGHT);
  await page.waitForURL(`**/threads/${two}`);
  expect((await other.call("thread/read", { threadId: two })).thread.status).toBe("waiting");
  // A tap behind these touches has no click in the protocol of the browser's tools, unlike those of a finger.
  await page.locator("[data-question]").getByRole("button", { name: "Reject", exact: true }).click();
  await expect.poll(() => told(two)).toContain("rejected");
});

test("an answer that comes too late says who was first", async () => {
  const id = await waiting("Too late", "kind=execute command='echo late'");
  const page = await stage.page();
  await expect.poll(() => answer(page, "Too late", "Allow once").getAttribute("aria-disabled")).toBeNull();
  const { thread } = await other.call("thread/read", { threadId: id });
  // The page does not hear of the other answer in time.
  await page.evaluate(() => {
    const send = WebSocket.prototype.send;
    WebSocket.prototype.send = function (data) {
      const release = () => send.call(this, data);
      if (typeof data === "string" && data.includes("item/approve")) {
        Object.assign(window, { release });
      } else {
        release();
      }
    };
  });
  await answer(page, "Too late", "Allow once").click();
  await other.call("item/approve", { requestId: thread.pendingRequestIds[0]!, approved: false });
  await page.evaluate(() => (window as unknown as { release: () => void }).release());
  await page.getByText("Already answered by owner (other-program)").waitFor();
});

test("who may only look on sees what is asked, and no answers", async () => {
  await waiting("Looked at", "kind=execute command='echo look'");
  const token = (await stage.daemon.run("token", "create", "--name", "eve", "--role", "observer")).trim();
  const page = await stage.page({ token });
  await row(page, "Looked at").locator(".row-question").waitFor();
  await expect.poll(() => row(page, "Looked at").locator(".row-answers").count()).toBe(0);
  const padding = (side: string) => row(page, "Looked at").locator(".row-link").evaluate((link, of) => getComputedStyle(link).getPropertyValue(of), side);
  await expect.poll(async () => (await padding("padding-bottom")) === (await padding("padding-top"))).toBe(true);
});

test("a notification says what is asked, and opens the request", async () => {
  const page = await stage.page({ permissions: ["notifications"] });
  await page.addInitScript(() => {
    localStorage.setItem("acpd.notify", "true");
    class Note {
      static permission = "granted";
      static requestPermission = () => Promise.resolve("granted");
      onclick?: () => void;
      constructor(title: string, { body }: NotificationOptions) {
        Object.assign(window, { note: Object.assign(this, { said: [title, body] }) });
      }
      close() {}
    }
    Object.assign(window, { Notification: Note });
  });
  await page.reload();
  await page.locator(".side-list").waitFor();
  await page.locator(".side-list section").or(page.getByText("No threads yet")).first().waitFor();
  const id = await waiting("Noted", "kind=execute command='echo note'");
  type Noted = { note?: { said: string[]; onclick(): void } };
  await expect.poll(() => page.evaluate(() => (window as unknown as Noted).note?.said)).toEqual(["Noted is waiting for approval", "Run echo note"]);
  await page.evaluate(() => (window as unknown as Noted).note!.onclick());
  await expect.poll(() => page.evaluate(() => document.activeElement?.hasAttribute("data-question"))).toBe(true);
  expect(new URL(page.url()).pathname).toBe(`/threads/${id}`);
});

test("with a mouse, answers are shown in the row that one points at, and have no line of their own", async () => {
  await waiting("Compact", "kind=execute command='echo small'");
  const page = await stage.page();
  await answer(page, "Compact", "Allow once").waitFor();
  const opacity = (part: string) => row(page, "Compact").locator(part).evaluate((el) => getComputedStyle(el).opacity);
  await page.mouse.move(800, 400);
  await expect.poll(() => opacity(".row-answers")).toBe("0");
  await expect.poll(() => opacity(".row-sub")).toBe("1");
  await expect.poll(async () => (await row(page, "Compact").boundingBox())!.height).toBeLessThan(84);
  await row(page, "Compact").hover();
  await expect.poll(() => opacity(".row-answers")).toBe("1");
  await expect.poll(() => opacity(".row-sub")).toBe("0");
  await page.mouse.move(800, 400);
  await row(page, "Compact").locator(".row-link").focus();
  await expect.poll(() => opacity(".row-answers")).toBe("1");
  // A click is no answer while the row has just changed.
  const question = row(page, "Compact").locator(".row-question");
  await expect
    .poll(async () => {
      if ((await question.count()) > 0) await answer(page, "Compact", "Allow once").click();
      return question.count();
    })
    .toBe(0);
  await page.context().close();
});

test("the home of an approver's phone is the list of threads, for a handful of requests", async () => {
  const id = await waiting("For an approver", "kind=execute command='echo approved'");
  const token = (await stage.daemon.run("token", "create", "--name", "pocket", "--role", "approver")).trim();
  const page = await stage.page({ token, size: PHONE });
  let requests = 0;
  page.on("websocket", (socket) => socket.on("framesent", () => (requests += 1)));
  await page.reload();
  const home = page.locator("main .side-list");
  const found = home.locator(".row", { hasText: "For an approver" });
  await found.locator(".row-question").waitFor();
  await expect.poll(() => page.getByRole("heading", { level: 1 }).innerText()).toBe("Threads");
  await expect.poll(() => page.title()).toMatch(/Threads · acpd$/);
  await expect.poll(() => page.locator("#prompt").count()).toBe(0);
  await expect.poll(() => home.locator(".side-end").count()).toBe(0);
  // The daemon accepts 60 in 10 seconds.
  expect(requests).toBeLessThan(20);
  await accessible(page);
  await shoot(page, "approver-home");
  await found.locator(".row-name").tap();
  await page.waitForURL(`**/threads/${id}`);
  await page.locator("[data-question]").getByRole("button", { name: "Allow once", exact: true }).tap();
  await expect.poll(() => told(id)).toContain("allowed");
});
