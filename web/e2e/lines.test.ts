/** What is one line until it is opened, and what stays where it is: folds, the user's place, names for screen readers. */

import type { Client } from "@acpd/client";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { openThread, sayToEnd, settled, startThread, until } from "./support/acts.ts";
import { accessible, DESKTOP, PHONE, shoot, Stage } from "./support/browser.ts";
import { tooSmall } from "./support/room.ts";

let stage: Stage;
let other: Client;
let page: Page;

/** A turn with reads, messages, an edit and commands, and an answer. */
const WORK =
  "say I will look first.; tool kind=read path=src/a.rs; tool kind=read path=src/b.rs; tool kind=search path=src; " +
  "say Now the change.; tool kind=edit; tool kind=execute; tool kind=edit path=src/other.rs status=failed; say The answer.";

beforeAll(async () => {
  stage = await Stage.set();
  other = await stage.daemon.client("other-program");
  page = await stage.page();
});
afterAll(() => stage?.end());

const feed = (of = page) => of.getByRole("feed");
const work = (of = page) => of.locator(".th-work:not(.th-group)");
const top = async (of: Locator) => (await of.boundingBox())!.y;

/** Clicks a control, and checks that it stays where it is once `done` is visible. */
async function stays(control: Locator, done: Locator): Promise<void> {
  // A key ends what the previous click holds in its place.
  await page.keyboard.press("Shift");
  await control.scrollIntoViewIfNeeded();
  await settled(feed());
  const before = await top(control);
  // The button that leads to the end may cover the middle.
  await control.click({ position: { x: 8, y: 8 } });
  await done.waitFor();
  await settled(feed());
  expect(Math.abs((await top(control)) - before), String(control)).toBeLessThan(2);
}

test("a turn that has ended is its prompt, one line of work and the answer", async () => {
  const id = await startThread(stage, other, WORK);
  await until(other, id, "idle");
  await openThread(stage, page, id);
  await work().waitFor();
  await expect.poll(() => work().innerText()).toMatch(/^Worked .*s · read 2 files · searched once · ran 1 command · 1 file \+1\s*−1 · 1 failed$/);
  await page.locator(".virtual-line", { hasText: "The answer." }).last().waitFor();
  await expect.poll(() => page.locator(".virtual-line", { hasText: "Now the change." }).count()).toBe(1);
  await shoot(page, "work-desktop");
  await accessible(page);
  await page.keyboard.press("Tab");
  await work().focus();
  await page.keyboard.press("Enter");
  const group = page.locator(".th-group");
  await group.waitFor();
  await expect.poll(() => group.innerText()).toBe("Read 2 files, searched once");
  // A line of a tool is not higher than a line of text with its margin.
  const heights = await page.locator(".th-tool").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().height));
  expect(Math.max(...heights)).toBeLessThanOrEqual(32);
  await group.press("Enter");
  await page.locator(".th-tool", { hasText: "read src/a.rs" }).waitFor();
  await page.locator(".th-tool", { hasText: "read src/a.rs" }).locator("summary").press("Enter");
  await page.locator(".th-preformatted", { hasText: "println" }).first().waitFor();
  await shoot(page, "work-open-desktop");
  await accessible(page);
  const dark = await stage.page({ dark: true });
  await openThread(stage, dark, id);
  await work(dark).click();
  await dark.locator(".th-tool[data-kind=edit] summary").first().click();
  await dark.locator(".th-diff .hljs-string").first().waitFor();
  await shoot(dark, "work-open-dark");
  await accessible(dark);
});

test("the summary is there while the turn runs, and what runs is open below it", async () => {
  const id = await startThread(stage, other, "tool kind=read; tool kind=edit; slow ms=600000");
  await openThread(stage, page, id);
  await expect.poll(() => work().innerText()).toMatch(/^Working \d.* · read 1 file · 1 file/);
  await expect.poll(() => work().getAttribute("aria-expanded")).toBe("true");
  await page.locator(".th-status-running").first().waitFor();
  await work().click();
  // What runs is never hidden.
  await expect.poll(() => page.locator(".th-tool").count()).toBe(1);
  await page.locator(".th-status-running").first().waitFor();
  await other.call("turn/interrupt", { threadId: id });
  await expect.poll(() => work().innerText()).toMatch(/^Worked /);
});

test("a call that waits for approval is one line that says so", async () => {
  const id = await startThread(stage, other, "permission kind=edit");
  await openThread(stage, page, id);
  const line = page.locator(".virtual-line .th-tool", { hasText: "Waiting for approval below" });
  await line.waitFor();
  expect((await line.boundingBox())!.height).toBeLessThanOrEqual(32);
  await page.locator(".pane-foot .th-diff").waitFor();
  await expect.poll(() => page.locator(".virtual-line .th-diff").count()).toBe(0);
  // The question says the rest.
  await expect.poll(() => page.locator(".th-working").count()).toBe(0);
  await page.locator(".pane-foot").getByRole("button", { name: "Allow once", exact: true }).click();
  await page.locator(".virtual-line .th-tool", { hasText: "+1" }).waitFor();
});

test("after a reload the plan is in the turn that has made it", async () => {
  const id = await startThread(stage, other, "plan; say planned");
  await until(other, id, "idle");
  await other.call("turn/start", { threadId: id, text: "say without a plan" });
  await until(other, id, "idle");
  await openThread(stage, page, id);
  const plan = page.getByRole("article", { name: "Plan", exact: true });
  await plan.waitFor();
  await expect.poll(() => plan.count()).toBe(1);
  const answer = page.getByRole("article", { name: "Agent: without a plan" });
  await settled(feed());
  expect(await top(plan)).toBeLessThan(await top(answer));
  await expect.poll(() => page.locator(".pane-foot .th-plan").count()).toBe(0);
});

test("what is clicked stays where it is: folds, more lines, and the columns of a diff", async () => {
  const id = await startThread(stage, other, "files n=1 bytes=60000 by=tool; tool kind=edit; tool kind=edit path=src/b.rs");
  await until(other, id, "idle");
  await other.call("turn/start", { threadId: id, text: `say "${"A long answer. ".repeat(200)}"` });
  await until(other, id, "idle");
  await other.call("turn/start", { threadId: id, text: "files n=1 bytes=90000 by=tool; tool kind=edit; tool kind=edit path=src/b.rs; say done" });
  await until(other, id, "idle");
  await openThread(stage, page, id);
  await page.locator(".virtual-line", { hasText: "done" }).last().waitFor();
  // A click holds its control for half a second, and the view of diffs is loaded two seconds after the thread.
  await page.waitForFunction(() => performance.getEntriesByType("resource").some(({ name }) => /\/Diff-[^/]*\.js$/.test(name)));
  // At the end of the list, which is otherwise followed.
  const last = work().last();
  await stays(last, page.locator(".th-tool", { hasText: "src/b.rs" }).last());
  const edits = page.locator(".th-tool[data-kind=edit] summary");
  await stays(edits.last(), page.locator(".th-diff").last());
  await stays(page.getByRole("button", { name: "Split" }).last(), page.locator(".th-diff-split").last());
  await stays(page.getByRole("button", { name: "Unified" }).last(), page.locator(".th-diff-unified").last());
  const large = edits.nth((await edits.count()) - 3);
  await stays(large, page.getByText("more lines").last());
  const more = page.getByRole("button", { name: "Show more" }).last();
  await page.keyboard.press("Shift");
  await more.scrollIntoViewIfNeeded();
  await settled(feed());
  const row = page.locator(".th-diff tbody tr:last-child").nth(0);
  const at = await top(row);
  const rows = await page.locator(".th-diff tr").count();
  const mark = await row.elementHandle();
  await more.click();
  await expect.poll(() => page.locator(".th-diff tr").count()).toBeGreaterThan(rows);
  await settled(feed());
  expect(Math.abs((await mark!.boundingBox())!.y - at)).toBeLessThan(2);
});

test("the head of a diff stays in sight, and its buttons lead from change to change", async () => {
  const id = await startThread(stage, other);
  await openThread(stage, page, id);
  const text = (mark: string) => Array.from({ length: 120 }, (_, n) => (n % 40 === 20 ? `${mark} ${n}` : `line ${n}`)).join("\\n");
  await sayToEnd(page, `write path=long.txt text="${text("old")}"; write path=long.txt text="${text("new")}"`);
  await work().last().click();
  await page.locator(".th-tool", { hasText: "−3" }).locator("summary").click();
  const diff = page.locator(".th-diff").last();
  const next = diff.getByRole("button", { name: "Next change" });
  const head = diff.locator(".th-diff-head");
  const change = (at: number) => diff.locator("[data-change]").nth(at);
  const below = async (at: number) => {
    const { y, height } = (await head.boundingBox())!;
    return (await top(change(at))) - y - height;
  };
  await next.click();
  await next.click();
  await expect.poll(async () => (await below(1)) < 12 || (await atEnd())).toBe(true);
  await diff.getByRole("button", { name: "Previous change" }).click();
  await expect.poll(async () => Math.abs(await below(0)) < 14 || (await atEnd())).toBe(true);
  expect(await top(head)).toBeGreaterThanOrEqual((await top(feed())) - 1);
});

test("in a long thread, the heads of several files stay at the top of their own files", async () => {
  const id = await startThread(stage, other);
  await openThread(stage, page, id);
  await sayToEnd(page, `say "${"Many words. ".repeat(2_000)}"`);
  const text = (mark: string) => Array.from({ length: 100 }, (_, n) => `${mark} ${n}`).join("\\n");
  await sayToEnd(page, `write path=one.txt text="${text("one")}"; write path=two.txt text="${text("two")}"`);
  await page.getByText("2 files changed").click();
  const files = page.locator(".th-turn-diff .th-diff");
  await expect.poll(() => files.count()).toBe(2);
  await expect.poll(() => files.locator(".th-path-name").allInnerTexts()).toEqual(["one.txt", "two.txt"]);
  const list = feed();
  /** Scrolls so that a file begins at a distance from the upper edge of the list; returns whether its head is there, and on top. */
  const headAt = (at: number, distance: number) =>
    list.evaluate(
      (el, [at, distance]) => {
        const file = el.querySelectorAll(".th-turn-diff .th-diff")[at!]!;
        const edge = el.getBoundingClientRect().top;
        el.scrollTop += file.getBoundingClientRect().top - edge - distance!;
        const head = file.querySelector(".th-diff-head")!;
        const { top, left, height } = head.getBoundingClientRect();
        const isThere = Math.abs(top - edge - Math.max(0, distance!)) < 2;
        return isThere && head.contains(document.elementFromPoint(left + 4, top + height / 2));
      },
      [at, distance] as const,
    );
  // It begins its file, and sticks to the edge of the list while the file goes past it.
  for (const at of [0, 1]) {
    for (const distance of [60, -200, -600]) {
      await expect.poll(() => headAt(at, distance), { message: `file ${at} at ${distance}` }).toBe(true);
    }
  }
});

const atEnd = () => feed().evaluate((el) => el.scrollTop + el.clientHeight >= el.scrollHeight - 1);

test("the changes of the last turn come into sight when they are opened", async () => {
  const id = await startThread(stage, other, `say "${"Many words. ".repeat(1_000)}"`);
  await until(other, id, "idle");
  await openThread(stage, page, id);
  const text = Array.from({ length: 100 }, (_, n) => `line ${n}`).join("\\n");
  await sayToEnd(page, `write path=shown.txt text="${text}"`);
  await settled(feed());
  const changes = page.getByText("1 file changed").last();
  await changes.click();
  await page.locator(".th-turn-diff .th-diff tr").first().waitFor();
  const list = (await feed().boundingBox())!;
  await expect.poll(async () => (await top(changes)) - list.y).toBeLessThan(list.height / 3);
  await expect.poll(async () => (await top(page.locator(".th-turn-diff .th-diff"))) < list.y + list.height / 2).toBe(true);
  expect(await top(changes)).toBeGreaterThanOrEqual(list.y);
});

test("an answer is shown for a moment over the conversation, and moves nothing", async () => {
  const id = await startThread(stage, other, "permission kind=execute command='make all'; slow ms=600000");
  await until(other, id, "waiting");
  await openThread(stage, page, id);
  await page.locator("[data-question]").getByRole("button", { name: "Allow once" }).click();
  const receipt = page.locator(".th-receipts > .th-settled");
  await receipt.waitFor();
  await expect.poll(() => page.locator("[data-question]").count()).toBe(0);
  const composer = page.locator(".th-composer");
  const before = await top(composer);
  const { y, height } = (await receipt.boundingBox())!;
  expect(y + height).toBeLessThanOrEqual(before);
  expect(height).toBeLessThan(40);
  await expect.poll(() => receipt.count(), { timeout: 10_000 }).toBe(0);
  await expect.poll(async () => Math.abs((await top(composer)) - before)).toBeLessThan(1);
  await other.call("turn/interrupt", { threadId: id });
});

test("a message has its time, its words and its address beside it", async () => {
  const id = await startThread(stage, other, "say the answer");
  await until(other, id, "idle");
  await openThread(stage, page, id);
  const answer = page.locator(".th-agent", { hasText: "the answer" }).last();
  await answer.hover();
  const acts = answer.locator(".th-message-acts");
  await acts.hover();
  await expect.poll(() => acts.getAttribute("title")).toMatch(/^\d+ \w{3} \d{4} \d\d:\d\d:\d\d$/);
  await acts.getByRole("button", { name: "Copy link" }).waitFor();
  // It lies on nothing else.
  const line = (await page.locator(".virtual-line", { has: answer }).boundingBox())!;
  const box = (await acts.boundingBox())!;
  expect(box.y).toBeGreaterThanOrEqual(line.y);
  expect(box.y + box.height).toBeLessThanOrEqual(line.y + line.height + 1);
});

test("a turn that ends while the user reads it stays open", async () => {
  const id = await startThread(stage, other, `say "${"Many words. ".repeat(400)}"`);
  await until(other, id, "idle");
  await openThread(stage, page, id);
  await other.call("turn/start", { threadId: id, text: `${WORK}; slow ms=600000` });
  const read = page.locator(".virtual-line", { hasText: "Now the change." }).last();
  await read.waitFor();
  await feed().hover();
  await page.mouse.wheel(0, -150);
  await page.getByRole("button", { name: /Jump to latest|New below/ }).waitFor();
  await settled(feed());
  const before = await top(read);
  await other.call("turn/interrupt", { threadId: id });
  await until(other, id, "idle");
  await page.locator(".th-work", { hasText: "Worked" }).last().waitFor({ state: "attached" });
  await settled(feed());
  expect(Math.abs((await top(read)) - before)).toBeLessThan(2);
  await expect.poll(() => work().last().getAttribute("aria-expanded")).toBe("true");
});

test("a user who returns to a thread is where they were, with what they had opened", async () => {
  const id = await startThread(stage, other, "say the first of all", { name: "Returned to" });
  const elsewhere = await startThread(stage, other, "say elsewhere", { name: "Elsewhere" });
  for (let n = 0; n < 14; n++) {
    await other.call("turn/start", { threadId: id, text: `say "turn ${n}\\n\\n${"More words. ".repeat(80)}"; tool kind=edit; tool kind=edit path=b.rs` });
  }
  await until(other, id, "idle");
  await openThread(stage, page, id);
  await page.locator(".virtual-line", { hasText: "turn 13" }).last().waitFor();
  await feed().focus();
  await page.keyboard.press("Home");
  await page.locator(".virtual-line", { hasText: "the first of all" }).last().waitFor();
  await feed().hover();
  await page.mouse.wheel(0, 700);
  await settled(feed());
  await work().first().click();
  await page.locator(".th-tool").first().waitFor();
  await settled(feed());
  const seen = () => page.evaluate(() => {
    const rows = [...document.querySelectorAll(".virtual-line")].map((row) => [row.getAttribute("data-key")!, Math.round(row.getBoundingClientRect().top)] as const);
    return rows.filter(([, y]) => y > 0 && y < 500).join("; ");
  });
  const before = await seen();
  expect(before).toContain("work-");
  const go = (thread: string) => page.locator(`[data-thread="${thread}"] .row-link`).click();
  await go(elsewhere);
  await page.locator(".pane h1", { hasText: "Elsewhere" }).waitFor();
  await go(id);
  await page.locator(".pane h1", { hasText: "Returned to" }).waitFor();
  await expect.poll(seen).toBe(before);
});

test("a search result in a folded line opens it", async () => {
  const id = await startThread(stage, other, "say begin; terminal echo kingfisher; tool kind=edit; say the end", { name: "Has it" });
  await until(other, id, "idle");
  const { thread } = await other.call("thread/read", { threadId: id, includeTurns: true });
  const items = thread.turns!.flatMap(({ items }) => items ?? []);
  const command = items.find((item) => item.type === "terminalCommand")!;
  await page.goto(`${stage.url}/threads/${id}?item=${command.itemId}`);
  await page.locator(".virtual-line.is-target .th-terminal-line", { hasText: "kingfisher" }).waitFor();
});

test("text of right-to-left scripts is aligned by its own direction", async () => {
  const id = await startThread(stage, other, 'say "مرحبا بالعالم.\\n\\nEnglish again.\\n\\n- שלום\\n- עולם\\n\\n| a |\\n|---|\\n| שלום |"');
  await until(other, id, "idle");
  await openThread(stage, page, id);
  const answer = page.locator(".th-agent").last();
  const direction = (of: Locator) => of.evaluate((el) => getComputedStyle(el).direction);
  await expect.poll(() => direction(answer.locator("p", { hasText: "مرحبا" }))).toBe("rtl");
  await expect.poll(() => direction(answer.locator("p", { hasText: "English" }))).toBe("ltr");
  await expect.poll(() => direction(answer.locator("ul"))).toBe("rtl");
  await expect.poll(() => direction(answer.locator("td"))).toBe("rtl");
  const text = await answer.locator("p", { hasText: "مرحبا" }).evaluate((el) => {
    const range = document.createRange();
    range.selectNodeContents(el);
    return el.getBoundingClientRect().right - range.getBoundingClientRect().right;
  });
  expect(text).toBeLessThan(4);
  await shoot(page, "rtl-desktop");
});

test("screen readers find the turns by headings and the rows by names", async () => {
  const id = await startThread(stage, other, "say '# A title'; tool kind=edit; tool kind=edit path=src/b.rs; say Fine.");
  await until(other, id, "idle");
  await openThread(stage, page, id);
  await page.getByRole("heading", { level: 2, name: /^say ' A title'/ }).waitFor();
  await page.getByRole("article", { name: "Agent: Fine." }).waitFor();
  await page.getByRole("article", { name: /^You: say/ }).waitFor();
  await work().click();
  // A title of the agent is below those of the page.
  await page.getByRole("heading", { level: 3, name: "A title" }).waitFor();
  await page.getByRole("article", { name: "edit src/b.rs, completed" }).or(page.getByRole("article", { name: /edit .*src\/b\.rs, completed/ })).waitFor();
  const unnamed = await page.getByRole("article").evaluateAll((all) => all.filter((one) => !one.getAttribute("aria-label")).length);
  expect(unnamed).toBe(0);
});

for (const [name, options, least] of [
  ["with a mouse", { size: DESKTOP }, 24],
  ["on a phone", { size: PHONE }, 40],
] as const) {
  test(`what can be pressed in the conversation is large enough ${name}`, async () => {
    const id = await startThread(stage, other, `${WORK}; terminal seq 40; files n=1 bytes=60000 by=tool; image`);
    await until(other, id, "idle");
    const view = await stage.page(options);
    await openThread(stage, view, id);
    await work(view).click();
    await view.locator(".th-group").click();
    await view.locator(".th-tool[data-kind=edit] summary").first().click();
    await view.locator(".th-diff").first().waitFor();
    await view.locator(".th-tool[data-kind=edit] summary").last().click({ position: { x: 8, y: 8 } });
    await view.getByRole("button", { name: "Show more" }).waitFor();
    await view.getByRole("button", { name: "Jump to latest" }).waitFor();
    // Below the turn there is one button on touch, which opens the actions; otherwise these are there.
    const more = view.getByRole("button", { name: "More about this turn" });
    await expect.poll(() => more.count()).toBe(options.size === PHONE ? 1 : 0);
    if (await more.count()) {
      await expect.poll(() => view.getByRole("button", { name: "Fork from here" }).count()).toBe(0);
      await more.tap();
    }
    await view.getByRole("button", { name: "Fork from here" }).waitFor();
    await view.getByRole("button", { name: "Rewind to here" }).waitFor();
    await expect.poll(() => tooSmall(view, ".pane", least)).toEqual([]);
    await expect.poll(() => view.evaluate(() => document.documentElement.scrollWidth)).toBe(options.size.width);
    await shoot(view, `targets-${least}`);
    await accessible(view);
  });
}

test("on a phone, an error has the whole width", async () => {
  const id = await startThread(stage, other, "say a; error message='the model is overloaded'");
  const phone = await stage.page({ size: PHONE });
  await openThread(stage, phone, id);
  const error = phone.locator(".th-turn-error");
  await error.waitFor();
  expect((await error.boundingBox())!.width).toBeGreaterThan(330);
});
