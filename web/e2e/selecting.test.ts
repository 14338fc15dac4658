/** Several threads of the list at once: with the mouse, with keys, and with a finger. */

import type { Client } from "@acpd/client";
import type { CDPSession, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import { pick, row, startThread, until } from "./support/acts.ts";
import { accessible, DESKTOP, PHONE, shoot, Stage } from "./support/browser.ts";
import { beyond, isInSight, tooSmall } from "./support/room.ts";

let stage: Stage;
let other: Client;

beforeAll(async () => {
  stage = await Stage.set();
});
// A connection may send 60 requests in 10 seconds.
beforeEach(async () => {
  other = await stage.daemon.client("other-program");
});
afterAll(() => stage?.end());

/** Starts threads with these names, the first one latest. */
async function begin(...names: string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const name of [...names].reverse()) {
    const id = await startThread(stage, other, "say done", { name });
    await until(other, id, "idle");
    ids.unshift(id);
  }
  return ids;
}

/** Waits until rows can be selected: what does that is loaded after the rest. */
async function selectable(page: Page, name: string): Promise<void> {
  await row(page, name).waitFor();
  await page.locator(".side-list[data-selectable]").waitFor();
}

const count = (page: Page) => page.locator(".select-count").innerText();
const bar = (page: Page, name: string) => page.getByRole("group", { name: "Selected threads" }).getByRole("button", { name });

test("Ctrl and Shift with the mouse select, and one press archives all", async () => {
  const ids = await begin("Mouse one", "Mouse two", "Mouse three", "Mouse four");
  const page = await stage.page();
  await selectable(page, "Mouse one");
  const here = page.url();
  await row(page, "Mouse one").locator(".row-link").click({ modifiers: ["Control"] });
  await row(page, "Mouse three").locator(".row-link").click({ modifiers: ["Shift"] });
  await expect.poll(() => count(page)).toBe("3 selected");
  await row(page, "Mouse two").locator(".row-link").click({ modifiers: ["Control"] });
  await expect.poll(() => count(page)).toBe("2 selected");
  expect(page.url()).toBe(here);
  await shoot(page, "selecting-desktop");
  await accessible(page);
  await bar(page, "Archive 2 threads").click();
  await row(page, "Mouse one").waitFor({ state: "detached" });
  await row(page, "Mouse three").waitFor({ state: "detached" });
  await row(page, "Mouse two").waitFor();
  await page.getByText("Archived 2 threads").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await row(page, "Mouse three").waitFor();
  await row(page, "Mouse one").waitFor();
  await expect.poll(async () => (await other.call("thread/read", { threadId: ids[0]! })).thread.archived).not.toBe(true);
  await page.context().close();
});

test("a thread whose turn runs is named and stays, the others go; deleting asks once", async () => {
  await begin("Busy one", "Busy two");
  const running = await startThread(stage, other, "slow ms=600000", { name: "Busy three" });
  await until(other, running, "running");
  const page = await stage.page();
  await selectable(page, "Busy one");
  for (const name of ["Busy one", "Busy two", "Busy three"]) {
    await row(page, name).locator(".row-link").click({ modifiers: ["Control"] });
  }
  await bar(page, "Delete 3 threads").click();
  const dialog = page.getByRole("dialog", { name: "Delete 3 threads?" });
  await dialog.getByText("1 thread is at work").waitFor();
  await accessible(page);
  await dialog.getByRole("button", { name: "Delete 3 threads" }).click();
  await row(page, "Busy one").waitFor({ state: "detached" });
  await row(page, "Busy two").waitFor({ state: "detached" });
  const failures = page.locator(".select-failures");
  await failures.getByText("Busy three").waitFor();
  await expect.poll(() => count(page)).toBe("1 selected");
  await accessible(page);
  await other.call("turn/interrupt", { threadId: running });
  await page.context().close();
});

test("what is read on one device in one press is read on all", async () => {
  await begin("Unread one", "Unread two");
  const page = await stage.page();
  const second = await stage.page();
  await selectable(page, "Unread one");
  await expect.poll(() => row(second, "Unread two").locator(".row-unread").count()).toBe(1);
  await row(page, "Unread one").locator(".row-link").click({ modifiers: ["Control"] });
  await row(page, "Unread two").locator(".row-link").click({ modifiers: ["Control"] });
  await bar(page, "Mark 2 threads as read").click();
  await expect.poll(() => row(second, "Unread one").locator(".row-unread").count()).toBe(0);
  await expect.poll(() => row(second, "Unread two").locator(".row-unread").count()).toBe(0);
  await page.context().close();
  await second.context().close();
});

test.each([
  ["desktop", DESKTOP],
  ["zoomed", { width: 640, height: 400 }],
  ["phone", PHONE],
])("by keys alone: %s", async (size, viewport) => {
  const names = ["one", "two", "three"].map((number) => `Keys ${size} ${number}`);
  await begin(...names);
  const page = await stage.page({ size: viewport });
  if (viewport.width < 700) {
    // The form has the focus, where a letter is a text.
    await page.locator("#prompt").press("Escape");
    await page.keyboard.press("b");
    await page.locator("#sidebar.is-open").waitFor();
  }
  await selectable(page, names[0]!);
  await row(page, names[0]!).locator(".row-link").focus();
  await page.keyboard.press("Shift+ArrowDown");
  await expect.poll(() => count(page)).toBe("2 selected");
  await page.keyboard.press("Shift+ArrowDown");
  await expect.poll(() => count(page)).toBe("3 selected");
  await page.keyboard.press("Shift+ArrowUp");
  await expect.poll(() => count(page)).toBe("2 selected");
  await expect.poll(() => beyond(page)).toEqual([]);
  await expect.poll(() => isInSight(bar(page, "Archive 2 threads"))).toBe(true);
  await accessible(page);
  // Tab leads from the row over its menu to the bar.
  await expect
    .poll(async () => {
      await page.keyboard.press("Tab");
      return page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
    })
    .toBe("Archive 2 threads");
  await page.keyboard.press("Enter");
  await row(page, names[0]!).waitFor({ state: "detached" });
  await row(page, names[1]!).waitFor({ state: "detached" });
  // One goes on from the next row.
  await expect.poll(() => page.evaluate(() => document.activeElement?.closest("[data-thread]")?.textContent)).toContain(names[2]);
  await page.context().close();
});

test("pinned threads are ordered with keys, the mouse and their menu, for all devices", async () => {
  const names = ["Pin one", "Pin two", "Pin three"];
  const ids = await begin(...names);
  for (const threadId of ids) {
    await other.call("thread/pin/set", { threadId, pinned: true });
  }
  const page = await stage.page();
  const second = await stage.page();
  const order = (on: Page) => on.getByRole("region", { name: "Pinned" }).locator(".row-name").allInnerTexts();
  await selectable(page, names[0]!);
  await expect.poll(() => order(page)).toEqual(names);
  await row(page, "Pin three").locator(".row-link").focus();
  await page.keyboard.press("Alt+ArrowUp");
  await expect.poll(() => order(page)).toEqual(["Pin one", "Pin three", "Pin two"]);
  await expect.poll(() => order(second)).toEqual(["Pin one", "Pin three", "Pin two"]);
  await expect.poll(() => page.evaluate(() => document.activeElement?.closest("[data-thread]")?.textContent)).toContain("Pin three");
  await row(page, "Pin two").locator(".row-link").dragTo(row(page, "Pin one").locator(".row-link"), { targetPosition: { x: 40, y: 4 } });
  await expect.poll(() => order(second)).toEqual(["Pin two", "Pin one", "Pin three"]);
  await expect.poll(() => page.locator("[data-drop]").count()).toBe(0);
  await pick(second, "Pin three", "Move up");
  await expect.poll(() => order(page)).toEqual(["Pin two", "Pin three", "Pin one"]);
  // A turn moves none of them.
  await other.call("turn/start", { threadId: ids[0]!, text: "say more" });
  await until(other, ids[0]!, "idle");
  await second.reload();
  await expect.poll(() => order(second)).toEqual(["Pin two", "Pin three", "Pin one"]);
  for (const threadId of ids) {
    await other.call("thread/archive", { threadId });
  }
  await page.context().close();
  await second.context().close();
});

test("the focus stays in the list when its row leaves or moves to another section", async () => {
  const [first] = await begin("Focus one", "Focus two", "Focus three");
  const page = await stage.page();
  await row(page, "Focus one").locator(".row-link").focus();
  const focused = () => page.evaluate(() => document.activeElement?.closest("[data-thread]")?.querySelector(".row-name")?.textContent);
  await other.call("turn/start", { threadId: first!, text: "slow ms=600000" });
  await page.getByRole("region", { name: "Running" }).locator(".row", { hasText: "Focus one" }).waitFor();
  await expect.poll(focused).toBe("Focus one");
  await other.call("turn/interrupt", { threadId: first! });
  await page.getByRole("region", { name: "Running" }).waitFor({ state: "detached" });
  await expect.poll(focused).toBe("Focus one");
  await page.keyboard.press("ArrowDown");
  await expect.poll(focused).toBe("Focus two");
  await page.keyboard.press("Shift+F10");
  await page.getByRole("menuitem", { name: "Archive", exact: true }).press("Enter");
  await row(page, "Focus two").waitFor({ state: "detached" });
  await expect.poll(focused).toBe("Focus three");
  await page.context().close();
});

/** Touches an element for some time. */
async function hold(page: Page, cdp: CDPSession, name: string): Promise<void> {
  const { x, y, width, height } = (await row(page, name).locator(".row-link").boundingBox())!;
  const point = { x: x + width / 3, y: y + height / 2 };
  await cdp.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [point] });
  await row(page, name).and(page.locator(".is-selected")).waitFor();
  await cdp.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
}

test("on a phone a long press selects, then taps do, and the buttons have room for a finger", async () => {
  await begin("Finger one", "Finger two", "Finger three");
  const page = await stage.page({ size: PHONE });
  const cdp = await page.context().newCDPSession(page);
  await page.locator(".drawer-button").click();
  await selectable(page, "Finger one");
  await hold(page, cdp, "Finger one");
  await row(page, "Finger three").locator(".row-link").tap();
  await expect.poll(() => count(page)).toBe("2 selected");
  await expect.poll(() => page.locator("#sidebar.is-open").count()).toBe(1);
  await shoot(page, "selecting-phone");
  await expect.poll(() => tooSmall(page, ".select-bar", 40)).toEqual([]);
  await expect.poll(() => isInSight(bar(page, "Clear the selection"))).toBe(true);
  await accessible(page);
  await bar(page, "Pin 2 threads").tap();
  await expect.poll(() => page.getByRole("region", { name: "Pinned" }).locator(".row-name").allInnerTexts()).toEqual(["Finger one", "Finger three"]);
  // Without a selection, a tap opens.
  await page.locator(".select-bar").waitFor({ state: "detached" });
  await row(page, "Finger two").locator(".row-link").tap();
  await page.waitForURL(/\/threads\//);
  await page.context().close();
});
