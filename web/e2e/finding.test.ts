/** Finding threads: the whole list, its filters, the search, the palette; and taking a thread along. */

import { readFile } from "node:fs/promises";

import type { Client } from "@acpd/client";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { openThread, pick, row, startThread, until } from "./support/acts.ts";
import { accessible, PHONE, shoot, Stage } from "./support/browser.ts";

let stage: Stage;
let other: Client;

beforeAll(async () => {
  stage = await Stage.set({ config: ["[agents.second]", `command = ${JSON.stringify(process.env.ACPD_FAKE_AGENT)}`, 'title = "Second agent"'] });
  other = await stage.daemon.client();
});
afterAll(() => stage?.end());

/** Replaces the daemon's list by 2,000 threads. Everything else is the daemon's. */
async function fillList(page: Page): Promise<void> {
  await page.routeWebSocket(/\/ws/, (socket) => {
    const server = socket.connectToServer();
    socket.onMessage((message) => {
      const { id, method, params } = JSON.parse(String(message)) as { id: number; method: string; params: Record<string, unknown> };
      if (method !== "thread/list" || params.searchTerm != null) {
        server.send(message);
        return;
      }
      const all = Array.from({ length: 2_000 }, (_, at) => ({
        id: `00000000-0000-7000-8000-${String(at).padStart(12, "0")}`,
        name: `Thread number ${at}`,
        agentType: at % 10 === 0 ? "second" : "fake",
        cwd: `/work/${at % 7 === 0 ? "a/api" : "b/api"}`,
        status: "idle",
        lastTurnStatus: at % 500 === 499 ? "failed" : "completed",
        archived: false,
        turnCount: 1,
        createdAt: 1,
        updatedAt: Date.now() - at * 3_600_000,
      }));
      const fitting = all.filter(
        (one) =>
          params.pinned !== true &&
          (params.agentType == null || one.agentType === params.agentType) &&
          (params.cwd == null || one.cwd === params.cwd) &&
          (params.status == null || (params.status === "failed" ? one.lastTurnStatus === "failed" : params.status === "idle")),
      );
      const from = Number(params.cursor ?? 0);
      const until = from + Number(params.limit);
      const nextCursor = until < fitting.length ? String(until) : null;
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, result: { data: fitting.slice(from, until), nextCursor } }));
    });
  });
  await page.reload();
  await row(page, "Thread number 0").first().waitFor();
}

const filters = (page: Page) => page.getByRole("group", { name: "Filter" });
const last = (page: Page) => page.locator(".row").last().locator(".row-name").innerText();

test("2,000 threads are all reached by scrolling, with few of them in the page", async () => {
  const page = await stage.page();
  await fillList(page);
  const list = page.locator(".side-list");
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const work = async () => (await session.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration")!.value;
  const before = await work();
  let scrolls = 0;
  await expect
    .poll(async () => {
      await list.evaluate((at) => at.scrollTo(0, at.scrollHeight));
      scrolls++;
      return last(page);
    }, { timeout: 40_000, interval: 50 })
    .toBe("Thread number 1999");
  const spent = (await work()) - before;
  const rows = await page.locator(".row").count();
  console.log(`2,000 threads: ${Math.round(spent * 1000)} ms of work for ${scrolls} scrolls to the end; ${rows} rows in the page`);
  expect(rows).toBeLessThan(250);
  expect(spent).toBeLessThan(4);
  await expect.poll(() => page.locator(".side-end").count()).toBe(0);
  await shoot(page, "list-end");
  // Everything between is there, too.
  await list.evaluate((at) => at.scrollTo(0, at.scrollHeight / 2));
  await expect.poll(async () => Number((await last(page)).match(/\d+/)![0])).toBeLessThan(1_300);
  await expect
    .poll(() => list.evaluate((at) => document.elementFromPoint(100, at.getBoundingClientRect().top + 200)?.closest(".row") !== null))
    .toBe(true);
});

test("2,000 threads of the daemon are all reached, each once", async () => {
  const many = await Stage.set({ config: ["[sandbox]", 'mode = "off"', "[limits]", "requests_per_window = 10000"] });
  try {
    // Forks, because these start no agent.
    const first = await startThread(many, await many.daemon.client(), undefined, { name: "Thread number 0" });
    const numbers = Array.from({ length: 1_999 }, (_, at) => at + 1);
    const began = performance.now();
    await Promise.all(
      [1, 2, 3, 4].map(async () => {
        const client = await many.daemon.client();
        for (let at = numbers.shift(); at !== undefined; at = numbers.shift()) {
          const { thread } = await client.call("thread/fork", { threadId: first, name: `Thread number ${at}` });
          await client.call("thread/unsubscribe", { threadId: thread.id });
        }
        client.close();
      }),
    );
    console.log(`2,000 threads were made in ${Math.round(performance.now() - began)} ms`);
    const page = await many.page();
    const seen = new Set<string>();
    const look = async () => {
      const names = await page.locator(".side-list .row-name").allInnerTexts();
      names.forEach((name) => seen.add(name));
      // What is scrolled to is drawn in the next frame.
      await page.locator(".side-list").evaluate(
        (at) =>
          new Promise<void>((done) => {
            at.scrollBy(0, at.clientHeight);
            requestAnimationFrame(() => requestAnimationFrame(() => done()));
          }),
      );
      return seen.size;
    };
    await expect.poll(look, { timeout: 120_000, interval: 20 }).toBe(2_000);
  } finally {
    await many.end();
  }
}, 300_000);

test("keys reach all threads: End, the arrows, and j at the end of what is loaded", async () => {
  const page = await stage.page();
  await fillList(page);
  await page.locator(".row [data-rove]").first().focus();
  await page.keyboard.press("End");
  await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toMatch(/Thread number \d\d+/);
  const at = () => page.evaluate(() => Number(/Thread number (\d+)/.exec(document.activeElement!.textContent!)?.[1]));
  const end = await at();
  await page.keyboard.press("ArrowUp");
  await expect.poll(at).toBe(end - 1);
  await page.keyboard.press("Home");
  await expect.poll(at).toBe(0);
  // The focused row stays in the page while others are scrolled to.
  await page.locator(".side-list").evaluate((list) => list.scrollTo(0, 4_000));
  await row(page, "Thread number 90").first().waitFor();
  await expect.poll(at).toBe(0);
  await page.keyboard.press("ArrowDown");
  await expect.poll(at).toBe(1);
  await page.goto(`${stage.url}/threads/00000000-0000-7000-8000-000000000099`);
  await row(page, "Thread number 0").first().waitFor();
  await page.locator("#main").focus();
  await page.keyboard.press("j");
  await page.waitForURL("**/threads/00000000-0000-7000-8000-000000000100");
});

test("heads and rows name an agent by its title where it differs from its id", async () => {
  const id = await startThread(stage, other, "say hello", { agentType: "second", name: "Titled" });
  await until(other, id, "idle");
  const page = await stage.page();
  await openThread(stage, page, id);
  for (const place of [page.locator(".pane .view-head"), row(page, "Titled")]) {
    await place.getByText("Second agent").waitFor();
    await expect.poll(() => place.innerText()).not.toMatch(/\bsecond\b/);
  }
});

test("the list is filtered by folder, agent and status, and grouped by folder", async () => {
  const page = await stage.page();
  await fillList(page);
  await page.getByRole("button", { name: "Filter" }).click();
  // Two folders of the same name are told apart.
  await filters(page).getByLabel("Folder", { exact: true }).selectOption({ label: "a/api" });
  await filters(page).getByLabel("Agent", { exact: true }).selectOption({ label: "Second agent" });
  await expect.poll(() => page.locator(".row .row-name").allInnerTexts()).toEqual(expect.arrayContaining(["Thread number 0", "Thread number 70", "Thread number 140"]));
  await expect.poll(() => row(page, "Thread number 7").filter({ hasNotText: /Thread number 70|7\d\d/ }).count()).toBe(0);
  await accessible(page);
  await filters(page).getByLabel("Folder", { exact: true }).selectOption("");
  await filters(page).getByLabel("Agent", { exact: true }).selectOption("");
  await filters(page).getByLabel("Status", { exact: true }).selectOption({ label: "Failed" });
  await expect.poll(() => page.locator(".row .row-name").allInnerTexts()).toEqual(["Thread number 499", "Thread number 999", "Thread number 1499", "Thread number 1999"]);
  // Closed, the panel leaves a chip, which removes the filter.
  await page.getByRole("button", { name: /^Filter/ }).click();
  await shoot(page, "list-filtered");
  await accessible(page);
  await page.getByRole("button", { name: "Remove the filter Failed" }).click();
  await row(page, "Thread number 0").first().waitFor();
  await page.getByRole("button", { name: "Filter" }).click();
  await page.getByLabel("Group by folder").check();
  await expect.poll(() => page.locator(".side-list section").evaluateAll((parts) => parts.map((part) => part.getAttribute("aria-label")))).toEqual(["a/api", "b/api"]);
  await shoot(page, "list-by-folder");
  await page.getByLabel("Group by folder").uncheck();
});

test("the search groups hits by thread, is filtered, and marks the words in the conversation", async () => {
  const many = Array.from({ length: 8 }, (_, n) => `say "step ${n} with a kingfisher"; tool kind=read`).join("; ");
  const id = await startThread(stage, other, many, { name: "Birds by the river" });
  await until(other, id, "idle");
  const second = await startThread(stage, other, "say another kingfisher", { name: "Second birds", agentType: "second" });
  await until(other, second, "idle");
  const page = await stage.page();
  await page.fill("#search", "kingfisher");
  await expect.poll(() => page.locator(".hits").count()).toBe(2);
  const group = page.locator(".hits", { hasText: "Birds by the river" });
  await expect.poll(() => group.locator(".is-hit").count()).toBe(3);
  await expect.poll(() => group.locator(".hits-head").innerText()).toMatch(/fake ·\s+work/);
  await group.getByRole("button", { name: /more$/ }).click();
  await expect.poll(() => group.locator(".is-hit").count()).toBeGreaterThan(7);
  await shoot(page, "search-grouped");
  await accessible(page);
  await page.getByRole("button", { name: "Filter" }).click();
  await filters(page).getByLabel("Agent", { exact: true }).selectOption({ label: "Second agent" });
  await expect.poll(() => page.locator(".hits").count()).toBe(1);
  await filters(page).getByLabel("Agent", { exact: true }).selectOption("");
  await group.getByRole("button", { name: /more$/ }).click();
  await group.locator(".is-hit", { hasText: "Agent: step 3" }).click();
  await page.locator(".virtual-line.is-target", { hasText: "step 3" }).waitFor();
  const flash = () => page.locator(".virtual-line.is-target > *").first().evaluate((at) => getComputedStyle(at).animation);
  await expect.poll(flash, { message: "it is marked for 700 ms" }).toMatch(/0\.7s.*virtual-target/);
  const marked = () => page.evaluate(() => [...(CSS.highlights.get("found") ?? [])].map(String));
  await expect.poll(marked).toEqual(["kingfisher"]);
  await shoot(page, "search-target");
  // A name that matches is marked in the list.
  await page.fill("#search", "river");
  await page.locator(".hits-head mark", { hasText: "river" }).waitFor();
});

test("words that are typed before the page is connected are searched once it is", async () => {
  const id = await startThread(stage, other, "say a wagtail", { name: "Early bird" });
  await until(other, id, "idle");
  // The daemon is reached, and does not answer until all is typed.
  let release!: () => void;
  const typed = new Promise<void>((done) => (release = done));
  const page = await stage.page({
    prepare: async (context) => {
      await context.clock.install();
      await context.routeWebSocket(/\/ws/, (socket) => {
        const server = socket.connectToServer();
        socket.onMessage((message) => void typed.then(() => server.send(message)));
      });
    },
  });
  await page.fill("#search", "wagtail");
  await page.locator(".side-list").getByText("Waiting for the daemon…").waitFor();
  await page.clock.runFor(1_000);
  release();
  await page.locator(".hits", { hasText: "Early bird" }).waitFor();
});

test("Enter in the search opens the first result, also if that has yet to arrive", async () => {
  const id = await startThread(stage, other, "say the sandpiper");
  await until(other, id, "idle");
  const page = await stage.page();
  await page.locator(".side-list .row").first().waitFor();
  await page.fill("#search", "sandpiper");
  await page.press("#search", "Enter");
  await expect.poll(() => page.url()).toContain(`/threads/${id}`);
});

test("threads after the daemon's first page of 100 are in the list, and keep their place when the page reconnects", async () => {
  // A connection may send 60 requests in 10 s, and `other` belongs to the tests that follow.
  const starting = ["first-program", "second-program"].map(async (name, half) => {
    const client = await stage.daemon.client(name);
    for (let n = 0; n < 53; n++) {
      await startThread(stage, client, undefined, { name: `Real ${half} ${n}` });
    }
  });
  await Promise.all(starting);
  const page = await stage.page();
  await row(page, "Real 0 52").waitFor();
  const { data, nextCursor } = await other.call("thread/list", { limit: 100 });
  const { data: older } = await other.call("thread/list", { limit: 100, cursor: nextCursor });
  expect(older.length).toBeGreaterThan(0);
  const oldest = older.at(-1)!.name!;
  await expect
    .poll(async () => {
      await page.locator(".side-list").evaluate((list) => list.scrollTo(0, list.scrollHeight));
      return last(page);
    })
    .toBe(oldest);
  stage.cable.cut();
  await page.locator(".banner").waitFor();
  stage.cable.mend();
  await page.locator(".banner button").evaluateAll((buttons) => buttons.forEach((button) => (button as HTMLElement).click()));
  await page.locator(".banner").waitFor({ state: "detached" });
  await other.call("thread/name/set", { threadId: data[0]!.id, name: "Renamed meanwhile" });
  await page.locator(".side-list").evaluate((list) => list.scrollTo(0, 0));
  await row(page, "Renamed meanwhile").waitFor();
  await page.locator(".side-list").evaluate((list) => list.scrollTo(0, list.scrollHeight));
  await expect.poll(() => last(page)).toBe(oldest);
}, 300_000);

test("right-to-left names and prompts are laid out as such", async () => {
  const id = await startThread(stage, other, "say hello", { name: "שלום, עולם." });
  await until(other, id, "idle");
  const page = await stage.page();
  const direction = (selector: string) => page.locator(selector).first().evaluate((at) => getComputedStyle(at).direction);
  await row(page, "שלום").waitFor();
  await expect.poll(() => direction('.row-name:has-text("שלום")')).toBe("rtl");
  await page.fill("#prompt", "مرحبا");
  await expect.poll(() => direction("#prompt")).toBe("rtl");
  await page.fill("#prompt", "");
  await openThread(stage, page, id);
  await page.locator("h1", { hasText: "שלום" }).waitFor();
  await expect.poll(() => direction(".view-title h1")).toBe("rtl");
  await page.locator(".pane textarea").fill("مرحبا");
  await expect.poll(() => direction(".pane textarea")).toBe("rtl");
  await shoot(page, "right-to-left");
});

test("a hit in an old turn is loaded with a progress line", async () => {
  const id = await startThread(stage, other, "say an avocet at the start", { name: "Many turns" });
  await until(other, id, "idle");
  for (let n = 0; n < 14; n++) {
    await other.call("turn/start", { threadId: id, text: `say turn ${n}` });
    await until(other, id, "idle");
  }
  const page = await stage.page();
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.routeWebSocket(/\/ws/, (socket) => {
    const server = socket.connectToServer();
    socket.onMessage(async (message) => {
      if (/"thread\/read".*"cursor"/.test(String(message))) {
        await held;
      }
      server.send(message);
    });
  });
  await page.reload();
  await page.fill("#search", "avocet");
  await page.locator(".is-hit", { hasText: "Agent:" }).click();
  await page.getByRole("progressbar", { name: "Loading the search result" }).waitFor();
  release();
  await page.locator(".virtual-line.is-target", { hasText: "avocet" }).waitFor();
  await page.getByRole("progressbar", { name: "Loading the search result" }).waitFor({ state: "detached" });
});

test("Ctrl+K opens everything by its name", async () => {
  const id = await startThread(stage, other, "say hello", { name: "A pelican" });
  await until(other, id, "idle");
  const page = await stage.page();
  await row(page, "A pelican").waitFor();
  await page.locator("#prompt").focus();
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog", { name: "Command palette" });
  await palette.waitFor();
  await shoot(page, "palette-desktop");
  await accessible(page);
  await page.keyboard.type("pelic");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/threads/${id}`);
  await page.locator(".pane h1", { hasText: "A pelican" }).waitFor();
  await page.keyboard.press("Control+k");
  await palette.waitFor();
  await page.keyboard.type("settings");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Settings" }).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  await palette.waitFor();
  await page.keyboard.type("with second");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.locator("#agent").inputValue()).toBe("second");
  await page.keyboard.press("Control+k");
  await palette.waitFor();
  await page.keyboard.press("Escape");
  await palette.waitFor({ state: "detached" });
  await page.setViewportSize(PHONE);
  await page.keyboard.press("Control+k");
  await palette.waitFor();
  await shoot(page, "palette-phone");
});

test("a thread is exported, copied and linked to from its menu", async () => {
  const id = await startThread(stage, other, "say `the words to take along`", { name: "Take/me: along" });
  await until(other, id, "idle");
  const page = await stage.page();
  // The daemon's headers forbid pages to read the clipboard.
  await page.addInitScript(() => {
    navigator.clipboard.writeText = async (text) => void Object.assign(window, { copied: text });
  });
  await page.reload();
  await row(page, "Take/me: along").waitFor();
  const clipboard = () => page.evaluate(() => (window as unknown as { copied?: string }).copied);
  await pick(page, "Take/me: along", "Copy link");
  await expect.poll(clipboard).toBe(`${stage.url}/threads/${id}`);
  await pick(page, "Take/me: along", "Copy as Markdown");
  await expect.poll(clipboard).toContain("the words to take along");
  for (const [format, ending] of [["Markdown", "md"], ["HTML", "html"], ["JSON", "jsonl"]] as const) {
    await pick(page, "Take/me: along", "Export…");
    if (format === "Markdown") {
      await accessible(page);
    }
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: new RegExp(`^${format}`) }).click()]);
    expect(download.suggestedFilename()).toBe(`Take me along.${ending}`);
    expect(await readFile(await download.path(), "utf8")).toContain("the words to take along");
  }
});

test("the whole conversation is printed, and nothing else", async () => {
  const lines = Array.from({ length: 80 }, (_, n) => `say "printed line ${n}"; tool kind=read`).join("; ");
  const code = "say \"Some code:\\n\\n```js\\nlet x = '</pre>';\\n```\"; think n=2; write path=paper.txt text=hello";
  const id = await startThread(stage, other, `${code}; ${lines}`, { name: "On paper" });
  await until(other, id, "idle");
  const page = await stage.page({ dark: true });
  await page.addInitScript(() => {
    window.print = () => void Object.assign(window, { printed: true });
  });
  await openThread(stage, page, id);
  await page.locator(".virtual-line", { hasText: "printed line 79" }).first().waitFor();
  await page.keyboard.press("Control+p");
  await page.waitForFunction(() => "printed" in window);
  await page.emulateMedia({ media: "print" });
  const paper = page.locator(".print-only");
  for (const line of ["printed line 0", "printed line 79"]) {
    await expect.poll(() => paper.innerText()).toContain(line);
  }
  await expect.poll(() => paper.locator("h1").innerText()).toBe("On paper");
  await expect.poll(() => paper.locator(".agent pre").first().innerText()).toBe("let x = '</pre>';");
  await expect.poll(() => paper.locator(".user .said").count()).toBeGreaterThan(0);
  // Work is one line each, no markup is shown as text, and paper is white.
  await expect.poll(() => paper.locator(".tool").count()).toBeGreaterThanOrEqual(80);
  await expect.poll(() => paper.innerText()).not.toMatch(/<\/?(details|summary)|Kind:|status:/);
  await expect.poll(() => paper.locator("ins").first().evaluate((el) => getComputedStyle(el).backgroundColor)).toBe("rgb(223, 245, 227)");
  await expect.poll(() => paper.evaluate((el) => getComputedStyle(el.querySelector("main")!).color)).toBe("rgb(28, 30, 33)");
  await expect.poll(() => page.locator("#sidebar").isVisible()).toBe(false);
  await expect.poll(() => page.locator(".th-composer").isVisible()).toBe(false);
  await shoot(page, "print");
  await accessible(page);
  await page.emulateMedia({ media: "screen" });
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  await expect.poll(() => paper.count()).toBe(0);
  await expect.poll(() => page.evaluate(() => document.documentElement.dataset.theme)).toBeUndefined();
});

test("the browser's own menu prints the whole conversation as well", async () => {
  const page = await stage.page();
  const id = await startThread(stage, other, `${Array.from({ length: 80 }, (_, n) => `say "menu line ${n}"; tool kind=read`).join("; ")}`);
  await until(other, id, "idle");
  await openThread(stage, page, id);
  await page.locator(".virtual-line", { hasText: "menu line 79" }).first().waitFor();
  await page.evaluate(() => {
    addEventListener("beforeprint", () => Object.assign(window, { paper: document.querySelector<HTMLElement>(".print-only")?.textContent }));
  });
  await page.pdf();
  const paper = await page.evaluate(() => (window as { paper?: string }).paper);
  expect(paper).toContain("menu line 0");
  expect(paper).toContain("menu line 79");
  await expect.poll(() => page.locator(".print-only").count()).toBe(0);
  // Without the daemon, the page prints what it has, and says that this is a part.
  stage.cable.cut();
  try {
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    await expect.poll(() => page.locator(".print-only").count()).toBe(0);
    await page.emulateMedia({ media: "print" });
    await expect.poll(() => page.locator(".pane").evaluate((pane) => getComputedStyle(pane, "::after").content)).toContain("only a part");
  } finally {
    stage.cable.mend();
  }
});

test("a code in the settings pairs another device, which is listed and removed", async () => {
  const page = await stage.page();
  await page.getByRole("button", { name: "Settings" }).click();
  const [answer] = await Promise.all([
    page.waitForResponse((response) => response.url().endsWith("/api/pairings")),
    page.getByRole("button", { name: "Pair a device…" }).click(),
  ]);
  await page.getByRole("img", { name: "QR code with a sign-in link" }).waitFor();
  await page.getByText("works only on this computer").waitFor();
  await page.getByText(/It works once, until \d/).waitFor();
  // The whole code is in sight.
  const box = (await page.getByRole("img", { name: "QR code with a sign-in link" }).boundingBox())!;
  expect(box.y + box.height).toBeLessThanOrEqual(page.viewportSize()!.height);
  const edge = (part: Locator, side: "top" | "bottom") => part.evaluate((at, side) => at.getBoundingClientRect()[side], side);
  const [words, code] = [page.getByText("Scan this code with the device."), page.getByRole("img", { name: "QR code with a sign-in link" })];
  await expect.poll(async () => (await edge(code, "top")) - (await edge(words, "bottom")), { message: "the explanation is above the code" }).toBeGreaterThanOrEqual(0);
  await shoot(page, "phone-link");
  await accessible(page);
  const { ticket } = (await answer.json()) as { ticket: string };
  const phone = await stage.page({ size: PHONE, signIn: false });
  await phone.goto("about:blank");
  await phone.goto(`${stage.url}/#ticket=${ticket}`);
  // An approver starts no threads: its home is the list.
  await expect.poll(() => phone.evaluate(() => localStorage.getItem("acpd.page-key"))).not.toBeNull();
  await page.getByText("Paired phone.").waitFor();
  await expect.poll(() => page.getByRole("img", { name: "QR code with a sign-in link" }).count()).toBe(0);
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByText("this device").waitFor();
  await page.getByRole("button", { name: "Remove phone", exact: true }).click();
  await accessible(page);
  await page.getByRole("button", { name: "Remove phone now" }).click();
  await expect.poll(() => page.getByRole("button", { name: "Remove phone", exact: true }).count()).toBe(0);
  await phone.reload();
  await phone.getByRole("heading", { name: "Sign in" }).waitFor();
});
