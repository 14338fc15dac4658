/** The list of threads: status, search, new threads, and operations on whole threads. */

import type { Client } from "@acpd/client";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { openThread, pick, row, say, startThread, until } from "./support/acts.ts";
import { accessible, DESKTOP, PHONE, shoot, Stage } from "./support/browser.ts";
import { beyond, isInSight } from "./support/room.ts";

let stage: Stage;
let other: Client;
let page: Page;

beforeAll(async () => {
  stage = await Stage.set();
  other = await stage.daemon.client();
  page = await stage.page();
});
afterAll(() => stage?.end());

test("the list shows who waits, runs, has failed and is idle, with agent, workspace and age", async () => {
  await startThread(stage, other, "say done", { name: "Idle one" });
  await startThread(stage, other, "error message=broken", { name: "Failed one" });
  await startThread(stage, other, "slow ms=600000", { name: "Running one" });
  await startThread(stage, other, "permission kind=execute command=ls", { name: "Waiting one" });
  const mark = (name: string) => row(page, name).locator(".live").first();
  await mark("Waiting one").waitFor();
  await expect.poll(() => mark("Waiting one").getAttribute("aria-label")).toBe("waiting for approval");
  await expect.poll(() => mark("Running one").getAttribute("aria-label")).toBe("running");
  await expect.poll(() => mark("Failed one").getAttribute("aria-label"), { timeout: 10_000 }).toBe("Last turn failed");
  await expect.poll(() => mark("Failed one").getAttribute("title")).toBe("Last turn failed");
  await expect.poll(() => row(page, "Failed one").innerText()).toMatch(/Last turn failed ·\s+fake ·\s+work/);
  await expect.poll(() => mark("Idle one").getAttribute("aria-label")).toBe("idle");
  await expect.poll(() => row(page, "Idle one").innerText()).toMatch(/fake ·\s+work/);
  await expect.poll(() => row(page, "Idle one").locator("time").innerText()).toBe("now");
  const first = await page.locator(".side-list section").first().getAttribute("aria-label");
  expect(first).toBe("Waiting for you");
  await shoot(page, "threads-desktop");
  await accessible(page);
});

test("a thread that waits stands in the tab's title", async () => {
  await expect.poll(() => page.title()).toMatch(/^\(1\) /);
});

test("what ends while nobody looks is unread, until it is looked at", async () => {
  const unread = row(page, "Idle one").locator(".row-unread");
  await expect.poll(() => unread.count()).toBe(1);
  await row(page, "Idle one").locator("a").click();
  await page.locator(".pane h1", { hasText: "Idle one" }).waitFor();
  await page.locator(".pane .virtual-line", { hasText: "done" }).first().waitFor();
  await expect.poll(() => unread.count()).toBe(0);
  await page.goto(stage.url);
  await row(page, "Idle one").waitFor();
  await expect.poll(() => unread.count()).toBe(0);
});

test("what one device has shown is read on the others, at once and later", async () => {
  const id = await startThread(stage, other, "say done", { name: "On two devices" });
  await until(other, id, "idle");
  const phone = await stage.page({ size: PHONE });
  await expect.poll(() => row(phone, "On two devices").locator(".row-unread").count()).toBe(1);
  await expect.poll(() => row(page, "On two devices").locator(".row-unread").count()).toBe(1);
  await phone.goto(`${stage.url}/threads/${encodeURIComponent(id)}`);
  await phone.locator(".pane .virtual-line", { hasText: "done" }).first().waitFor();
  await expect.poll(() => row(page, "On two devices").locator(".row-unread").count()).toBe(0);
  const later = await stage.page();
  await row(later, "On two devices").waitFor();
  await expect.poll(() => row(later, "On two devices").locator(".row-unread").count()).toBe(0);
  await phone.context().close();
  await later.context().close();
});

test("the history is searched; a hit leads to its place", async () => {
  const many = Array.from({ length: 60 }, (_, n) => `say "line ${n}${n === 3 ? " with the heron" : ""}"; tool kind=read`);
  const id = await startThread(stage, other, many.join("; "), { name: "A long one" });
  await until(other, id, "idle");
  await page.fill("#search", "heron");
  const hit = page.locator(".row-link.is-hit", { hasText: "Agent:" }).first();
  await hit.waitFor();
  await expect.poll(() => hit.locator("mark").innerText()).toBe("heron");
  await shoot(page, "search-desktop");
  await accessible(page);
  await hit.click();
  const line = page.locator(".virtual-line.is-target", { hasText: "with the heron" });
  await line.waitFor();
  await expect
    .poll(async () => {
      const { y } = (await line.boundingBox())!;
      return y > 48 && y < 800;
    })
    .toBe(true);
  await page.locator("#search").press("Escape");
  await row(page, "Idle one").waitFor();
});

test("a new thread begins with agent, folder, name and a first prompt", async () => {
  await page.goto(stage.url);
  await page.selectOption("#agent", "fake");
  await page.fill("#folder", "not/absolute");
  await page.fill("#prompt", "say it begins");
  await page.locator("#prompt").press("Enter");
  await page.locator(".home-form [role=alert]", { hasText: "absolute path" }).waitFor();
  await expect.poll(() => page.locator("#folder").getAttribute("aria-invalid")).toBe("true");
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("folder");
  await page.fill("#folder", "/not/there");
  await page.locator("#folder").press("Enter");
  await page.locator(".home-form [role=alert]", { hasText: "No such folder on" }).waitFor();
  await expect.poll(() => page.locator("#folder").getAttribute("aria-invalid")).toBe("true");
  await expect.poll(() => page.locator("#prompt").inputValue()).toBe("say it begins");
  await page.fill("#folder", stage.daemon.work);
  await page.getByText("More options").click();
  await page.fill("#name", "From the page");
  await accessible(page);
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.waitForURL(/\/threads\//);
  await expect.poll(() => page.evaluate(() => document.activeElement?.className), { message: "one types on" }).toContain("th-composer-area");
  await page.locator(".virtual-line", { hasText: "it begins" }).last().waitFor();
  await expect.poll(() => page.locator(".pane h1").innerText()).toBe("From the page");
  // The agent's options are known now: the next thread can start in another mode, with other options.
  await page.locator(".side-new").click();
  await expect.poll(() => page.locator("#prompt").inputValue()).toBe("");
  await page.getByText("More options").click();
  await page.selectOption("#mode", "code");
  await page.selectOption("#option-model", "fake-large");
  await shoot(page, "new-thread-desktop");
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await page.waitForURL(/\/threads\//);
  const id = page.url().split("/").at(-1)!;
  await expect.poll(async () => (await other.call("thread/read", { threadId: id })).thread.modeId).toBe("code");
  await expect
    .poll(async () => JSON.stringify((await other.call("thread/read", { threadId: id })).thread.configOptions))
    .toContain('"currentValue":"fake-large"');
});

test.each([
  ["desktop", DESKTOP],
  ["zoomed", { width: 640, height: 400 }],
  ["phone", PHONE],
])("folder and agent are chips in the bar of the message box, and are changed there: %s", async (_, size) => {
  const view = await stage.page({ size });
  const chip = view.locator(".folder-chip");
  await view.fill("#folder", stage.daemon.work);
  await view.locator("#prompt").focus();
  await expect.poll(() => chip.innerText()).toBe("work");
  await expect.poll(() => isInSight(view.locator("#folder"))).toBe(true);
  await expect.poll(() => isInSight(view.locator("#agent"))).toBe(true);
  const foot = async () => (await view.locator(".th-composer-foot").boundingBox())!;
  const before = await foot();
  const { width } = (await view.locator(".th-composer-options").boundingBox())!;
  await view.locator("#folder").click();
  // The field has all the room of what is chosen in the bar, whose size stays.
  await expect.poll(async () => (await view.locator(".folder-entry").boundingBox())!.width).toBeGreaterThan(width - 20);
  await expect.poll(async () => (await foot()).height).toBe(before.height);
  await expect.poll(() => view.getByRole("button", { name: "Choose…" }).isVisible()).toBe(true);
  await expect.poll(() => beyond(view)).toEqual([]);
  await accessible(view);
  await view.fill("#folder", "/");
  await view.getByRole("listbox", { name: "Folders" }).waitFor();
  await view.keyboard.press("Escape");
  await view.keyboard.press("Escape");
  await expect.poll(() => view.evaluate(() => document.activeElement?.id)).toBe("prompt");
  await expect.poll(() => chip.innerText()).toBe("/");
  // The dialog gives the focus back to its button.
  await view.locator("#folder").focus();
  await view.getByRole("button", { name: "Choose…" }).click();
  await view.getByRole("dialog").waitFor();
  await view.keyboard.press("Escape");
  await view.getByRole("dialog").waitFor({ state: "detached" });
  await expect.poll(() => view.evaluate(() => document.activeElement?.closest(".folder") !== null)).toBe(true);
  await view.context().close();
});

test.each([
  ["desktop", DESKTOP],
  ["zoomed", { width: 640, height: 400 }],
  ["phone", PHONE],
])("a thread without a prompt says its agent and folder in the bar, and changes them: %s", async (_, size) => {
  const id = await startThread(stage, other, undefined, { name: "Still empty" });
  const view = await stage.page({ size });
  await openThread(stage, view, id);
  const folder = view.getByRole("button", { name: /^Folder: .*work$/ });
  await folder.waitFor();
  await expect.poll(() => folder.innerText()).toBe("work");
  await expect.poll(() => beyond(view)).toEqual([]);
  await accessible(view);
  await folder.focus();
  await view.keyboard.press("Enter");
  await view.getByRole("dialog").waitFor();
  await view.keyboard.press("Escape");
  await expect.poll(() => view.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toMatch(/^Folder: /);
  await view.locator(".pane textarea").fill("say for another agent");
  await view.getByRole("button", { name: "Agent: fake" }).focus();
  await view.keyboard.press("Enter");
  await expect.poll(() => view.locator("#prompt").inputValue()).toBe("say for another agent");
  await expect.poll(() => view.locator("#folder").inputValue()).toBe(stage.daemon.work);
  await view.locator("#prompt").fill("");
  await view.context().close();
  await other.call("thread/archive", { threadId: id });
});

test("the row of a new thread comes into sight in a list that was scrolled away", async () => {
  const low = await stage.page({ size: { width: 1280, height: 420 } });
  await low.locator(".side-list .row").first().waitFor();
  const list = low.locator(".side-list");
  await list.evaluate((at) => (at.scrollTop = at.scrollHeight));
  await low.fill("#folder", stage.daemon.work);
  await low.selectOption("#agent", "fake");
  await low.fill("#prompt", "slow ms=600000");
  await low.locator("#prompt").press("Enter");
  await low.waitForURL(/\/threads\//);
  const inSight = () =>
    low.locator(".side-list .row.is-current").evaluate((at) => {
      const [inner, outer] = [at.getBoundingClientRect(), at.closest(".side-list")!.getBoundingClientRect()];
      return inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1;
    });
  // It moves to another group once its turn runs.
  await low.locator(".row.is-current .live-running").first().waitFor({ state: "attached" });
  await expect.poll(inSight).toBe(true);
  const id = low.url().split("/").at(-1)!;
  await other.call("turn/interrupt", { threadId: id });
  await until(other, id, "idle");
  await other.call("thread/archive", { threadId: id });
});

test("a browser that has had no thread of the agent offers what its newest one can be set to", async () => {
  const fresh = await stage.page();
  await fresh.getByText("More options").click();
  await fresh.selectOption("#mode", "code");
  await fresh.selectOption("#option-model", "fake-large");
  await fresh.fill("#folder", stage.daemon.work);
  await fresh.getByRole("button", { name: "Open", exact: true }).click();
  await fresh.waitForURL(/\/threads\//);
  const id = fresh.url().split("/").at(-1)!;
  await expect.poll(async () => (await other.call("thread/read", { threadId: id })).thread.modeId).toBe("code");
});

test("a thread is renamed", async () => {
  await page.goto(stage.url);
  await row(page, "From the page").waitFor();
  await pick(page, "From the page", "Rename…");
  await page.getByRole("dialog", { name: "Rename thread" }).getByLabel("Name").fill("Another name");
  await accessible(page);
  await page.keyboard.press("Enter");
  await row(page, "Another name").waitFor();
  await expect.poll(() => row(page, "Another name").locator(".row-name").innerText()).toBe("Another name");
});

test("a thread is pinned on all devices, and the row's menu opens by a right click at the pointer", async () => {
  const second = await stage.page();
  const pinned = (on: Page) => on.getByRole("region", { name: "Pinned" }).locator(".row-name").allInnerTexts();
  await row(page, "Idle one").locator("a").click({ button: "right", position: { x: 60, y: 20 } });
  await page.getByRole("menuitem", { name: "Pin", exact: true }).click();
  await expect.poll(() => pinned(page)).toEqual(["Idle one"]);
  await expect.poll(() => pinned(second)).toEqual(["Idle one"]);
  await second.reload();
  await expect.poll(() => pinned(second)).toEqual(["Idle one"]);
  await accessible(page);
  // The menu key has no pointer.
  await row(page, "Idle one").locator("a").focus();
  await page.keyboard.press("ContextMenu");
  await page.getByRole("menuitem", { name: "Unpin" }).waitFor();
  await page.keyboard.press("Escape");
  await row(page, "Idle one").locator("a").click();
  await page.locator(".pane h1", { hasText: "Idle one" }).waitFor();
  await page.locator(".pane [role=feed]").focus();
  await page.keyboard.press("p");
  await expect.poll(() => page.getByRole("region", { name: "Pinned" }).count()).toBe(0);
  await expect.poll(() => second.getByRole("region", { name: "Pinned" }).count()).toBe(0);
});

test("a thread works in another folder", async () => {
  await pick(page, "Another name", "Change folder…");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "New folder" }).click();
  await page.keyboard.type("moved-to");
  await page.keyboard.press("Enter");
  await dialog.getByText(`${stage.daemon.work}/moved-to`).waitFor();
  await dialog.getByRole("button", { name: "Use this folder" }).click();
  await dialog.waitFor({ state: "detached" });
  await expect.poll(() => row(page, "Another name").innerText()).toContain("moved-to");
});

test("a thread is forked, and the fork goes on by itself", async () => {
  await pick(page, "Another name", "Fork");
  await page.waitForURL(/\/threads\//);
  await page.locator(".virtual-line", { hasText: "it begins" }).first().waitFor();
  await say(page, "say in the fork");
  await page.locator(".virtual-line", { hasText: "in the fork" }).last().waitFor();
  await expect.poll(() => row(page, "Another name").count()).toBe(2);
});

test("a thread is archived, and comes back by Undo and out of the archive", async () => {
  await page.goto(stage.url);
  await row(page, "Idle one").waitFor();
  await pick(page, "Idle one", "Archive");
  await expect.poll(() => row(page, "Idle one").count()).toBe(0);
  await page.getByRole("button", { name: "Undo" }).click();
  await row(page, "Idle one").waitFor();
  await pick(page, "Idle one", "Archive");
  await expect.poll(() => row(page, "Idle one").count()).toBe(0);
  await page.getByRole("link", { name: "Archive" }).click();
  await page.locator(".archived", { hasText: "Idle one" }).waitFor();
  await shoot(page, "archive-desktop");
  await accessible(page);
  await page.locator(".archived", { hasText: "Idle one" }).getByRole("button", { name: "Unarchive" }).click();
  await row(page, "Idle one").waitFor();
});

test("a deletion can be undone, and is carried out otherwise", async () => {
  const { data } = await other.call("thread/list", {});
  const { id } = data.find(({ name }) => name === "Idle one")!;
  await pick(page, "Idle one", "Delete");
  await expect.poll(() => row(page, "Idle one").count()).toBe(0);
  await page.locator(".toast", { hasText: "Deleted" }).getByRole("button", { name: "Undo" }).click();
  await row(page, "Idle one").waitFor();
  await pick(page, "Idle one", "Delete");
  await expect.poll(() => row(page, "Idle one").count()).toBe(0);
  await expect.poll(() => page.locator(".archived", { hasText: "Idle one" }).count()).toBe(0);
  const gone = () =>
    other.call("thread/read", { threadId: id }).then(
      () => false,
      (error: { code?: string }) => error.code === "not_found",
    );
  expect(await gone()).toBe(false);
  await shoot(page, "delete-desktop");
  // The number of requests in a time is limited.
  await expect.poll(gone, { timeout: 20_000, interval: 500 }).toBe(true);
});

test("a thread that is opening shows its name and place from the list", async () => {
  const slow = await stage.page();
  await slow.routeWebSocket(/\/ws/, (socket) => {
    const server = socket.connectToServer();
    // The thread's pages never arrive.
    socket.onMessage((message) => void (String(message).includes('"thread/resume"') || server.send(message)));
  });
  await slow.reload();
  await row(slow, "Running one").locator("a").click();
  await slow.locator(".pane h1", { hasText: "Running one" }).waitFor();
  await slow.locator(".skeleton").waitFor();
  await expect.poll(() => slow.locator(".view-sub").innerText()).toBe("fake · work");
  await shoot(slow, "opening-desktop");
  await accessible(slow);
});

test("the list is as wide as the user wants, also after a reload", async () => {
  const wide = await stage.page();
  const edge = wide.getByRole("separator", { name: "Width of the list" });
  const width = () => wide.locator("#sidebar").evaluate((side) => Math.round(side.getBoundingClientRect().width));
  await edge.waitFor();
  const before = await width();
  const box = (await edge.boundingBox())!;
  await wide.mouse.move(box.x + 3, 300);
  await wide.mouse.down();
  await wide.mouse.move(box.x + 83, 300, { steps: 4 });
  await wide.mouse.up();
  await expect.poll(width).toBeGreaterThan(before + 70);
  const dragged = await width();
  await wide.reload();
  await expect.poll(width).toBe(dragged);
  await edge.focus();
  await wide.keyboard.press("ArrowLeft");
  await expect.poll(width).toBe(dragged - 16);
  await expect.poll(() => edge.getAttribute("aria-valuenow")).toBe(String(dragged - 16));
  await accessible(wide);
  await edge.dblclick();
  await expect.poll(width).toBe(before);
});

test("the drawer is made for thumbs: it can be closed, shows no keys, and nothing in it is small", async () => {
  const phone = await stage.page({ size: PHONE });
  await phone.locator(".drawer-button").click();
  await row(phone, "Running one").waitFor();
  await expect.poll(() => phone.locator(".search kbd").count()).toBe(0);
  const small = () =>
    phone.locator("#sidebar").evaluate((side) =>
      [...side.querySelectorAll("a, button, input, select")]
        .filter((at) => at.checkVisibility() && at.getBoundingClientRect().height < 40)
        .map((at) => `${at.className} ${at.getBoundingClientRect().height}`),
    );
  await expect.poll(small).toEqual([]);
  await phone.getByRole("button", { name: "Close the list" }).click();
  await expect.poll(() => phone.locator("#sidebar").isVisible()).toBe(false);
});

test("the mark of waiting threads sits on the corner of the menu's icon", async () => {
  for (const size of [PHONE, { width: 640, height: 400 }]) {
    const page = await stage.page({ size });
    await page.locator(".drawer-button .dot").waitFor();
    const distance = await page.locator(".drawer-button").evaluate((button) => {
      const [dot, icon] = [button.querySelector(".dot")!, button.querySelector("path")!].map((at) => at.getBoundingClientRect());
      const [x, y] = [(dot!.left + dot!.right) / 2 - icon!.right, (dot!.top + dot!.bottom) / 2 - icon!.top];
      return Math.hypot(x, y);
    });
    expect(distance).toBeLessThan(8);
  }
});

test("the hidden skip link leaves no shadow in the corner", async () => {
  const dark = await stage.page({ dark: true });
  const shadow = () => dark.locator(".skip").evaluate((at) => getComputedStyle(at).boxShadow);
  await expect.poll(shadow).toBe("none");
  await expect.poll(() => dark.evaluate(() => document.activeElement?.id)).toBe("prompt");
  await dark.locator(".skip").focus();
  await expect.poll(shadow).not.toBe("none");
});

test("on a phone the list is a drawer", async () => {
  const phone = await stage.page({ size: PHONE });
  await phone.locator(".home-form").waitFor();
  await expect.poll(() => phone.locator("#sidebar").isVisible()).toBe(false);
  await shoot(phone, "new-thread-phone");
  await accessible(phone);
  await phone.locator(".drawer-button").click();
  await row(phone, "Running one").waitFor();
  await shoot(phone, "threads-phone");
  await accessible(phone);
  await row(phone, "Running one").locator("a").click();
  await phone.locator(".pane h1", { hasText: "Running one" }).waitFor();
  await expect.poll(() => phone.locator("#sidebar").isVisible()).toBe(false);
  await expect.poll(() => phone.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  await shoot(phone, "thread-phone");
  await accessible(phone);
});
