/** What holds for each of the main journeys: no axe finding, room at any size, and a way by keys alone. */

import type { Client } from "@acpd/client";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { answering } from "./support/answering.ts";
import { accessible, DESKTOP, type PageOptions, PHONE, shoot } from "./support/browser.ts";
import { connected, openThread, startThread, until } from "./support/acts.ts";
import { type Journey, Journeys, JOURNEYS } from "./support/journeys.ts";
import { beyond, isInSight, tooSmall, walk } from "./support/room.ts";

let journeys: Journeys;
let other: Client;

beforeAll(async () => {
  journeys = await Journeys.set();
  other = await journeys.stage.daemon.client("second-program");
});
afterAll(() => journeys?.end());

const SIZES = [
  { size: "desktop", viewport: DESKTOP, dark: false },
  { size: "phone", viewport: PHONE, dark: true },
  // A window of 1280×800 at a zoom of 200 %.
  { size: "zoomed", viewport: { width: 640, height: 400 }, dark: false },
];

describe("at every size", () => {
  let windows: { size: string; isNarrow: boolean; pageOf: (journey: Journey) => Promise<Page> }[];
  beforeAll(() => {
    windows = SIZES.map(({ size, viewport, dark }) => ({
      size,
      isNarrow: viewport.width < 700,
      pageOf: journeys.pages({ size: viewport, dark }),
    }));
  });

  test.each(JOURNEYS)("$name has room, and no axe finding", async (journey) => {
    const fitting = windows.filter(({ isNarrow }) => !journey.narrow || isNarrow);
    // They mostly wait, so all at once.
    const tried = await Promise.allSettled(
      fitting.map(async ({ size, pageOf }) => {
        const page = await pageOf(journey);
        await journeys.go(journey, page);
        await shoot(page, `journey-${journey.name}-${size}`);
        await expect.poll(() => beyond(page), { message: size }).toEqual([]);
        const wanted = page.locator(journey.wanted);
        await wanted.first().waitFor();
        for (const one of await wanted.all()) {
          const message = `${size}: ${await one.evaluate((el) => el.outerHTML.slice(0, 200))}`;
          await expect.poll(() => isInSight(one), { message }).toBe(true);
        }
        // A phone is touched.
        await expect.poll(() => tooSmall(page, "body", size === "phone" ? 40 : 24), { message: size }).toEqual([]);
        await accessible(page);
      }),
    );
    const failures = tried.flatMap((one, at) => (one.status === "rejected" ? [`${fitting[at]!.size}: ${(one.reason as Error).stack}`] : []));
    expect(failures).toEqual([]);
  });
});

/** Opens the list by keys where it is a drawer. */
async function openListByKeys(page: Page): Promise<void> {
  if (page.viewportSize()!.width >= 700) {
    return;
  }
  await walk(page, "Tab", { selector: ".drawer-button" });
  await page.keyboard.press("Enter");
  await page.locator("#sidebar.is-open").waitFor();
  await expect.poll(() => page.evaluate(() => document.activeElement?.closest("#sidebar") != null)).toBe(true);
}

/** Chooses an item of the open thread's menu by keys. */
async function pickByKeys(page: Page, thread: string, item: string): Promise<void> {
  await walk(page, "Tab", { name: "Skip to the content" });
  await page.keyboard.press("Enter");
  await walk(page, "Tab", { name: `More about ${thread}` });
  await page.keyboard.press("Enter");
  await walk(page, "ArrowDown", { name: item });
  await page.keyboard.press("Enter");
}

/** Opens the work of a turn, and in it the line of a tool call, by keys. */
async function openWorkByKeys(page: Page, kind: string): Promise<void> {
  await page.locator(".th-work").first().waitFor();
  await walk(page, "Tab", { selector: ".th-work" });
  await page.keyboard.press("Enter");
  await page.locator(`.th-tool[data-kind=${kind}] summary`).first().waitFor();
  await walk(page, "Tab", { selector: `.th-tool[data-kind=${kind}] summary` });
  await page.keyboard.press("Enter");
}

interface ByKeys {
  name: string;
  /** The address at which the page begins. */
  path?: () => Promise<string>;
  signedOut?: boolean;
  keys: (page: Page) => Promise<void>;
}

/** Each journey from its beginning to its end by keys alone. */
const BY_KEYS: ByKeys[] = [
  {
    name: "new-thread",
    keys: async (page) => {
      await page.locator(".home-form").waitFor();
      await walk(page, "Tab", { selector: "#prompt" });
      await page.keyboard.type("say by keys");
      await walk(page, "Tab", { selector: "#folder" });
      await page.keyboard.press("Control+a");
      await page.keyboard.type(journeys.stage.daemon.work);
      await walk(page, "Tab", { name: "Start" });
      await page.keyboard.press("Enter");
      await page.waitForURL("**/threads/*");
      await page.locator(".th-agent", { hasText: "by keys" }).first().waitFor();
    },
  },
  {
    name: "conversation",
    path: async () => `threads/${journeys.threads.rest}`,
    keys: async (page) => {
      await page.locator(".th-work").first().waitFor();
      await walk(page, "Tab", { selector: ".th-work" });
      await page.keyboard.press("Enter");
      await page.locator(".th-group").first().waitFor();
      // Where nothing hovers, one button opens what can be done from here.
      if (await page.evaluate(() => matchMedia("(pointer: coarse)").matches)) {
        await walk(page, "Tab", { name: "More about this turn" });
        await page.keyboard.press("Enter");
      }
      await walk(page, "Tab", { name: "Fork from here" });
      await page.keyboard.press("Enter");
      await page.waitForURL((url) => url.pathname.startsWith("/threads/") && !url.pathname.endsWith(journeys.threads.rest));
    },
  },
  {
    name: "running",
    path: async () => {
      const id = await startThread(journeys.stage, other, "slow ms=600000");
      for (const text of ["say the second", "say the third"]) {
        await other.call("turn/start", { threadId: id, text });
      }
      return `threads/${id}`;
    },
    keys: async (page) => {
      const queue = page.getByRole("region", { name: "Queued messages" });
      await queue.getByText("say the third").waitFor();
      await walk(page, "Tab", { name: "Move down" });
      await page.keyboard.press("Enter");
      await expect.poll(async () => (await queue.innerText()).indexOf("third") < (await queue.innerText()).indexOf("second")).toBe(true);
      await walk(page, "Tab", { name: "Remove" });
      await page.keyboard.press("Enter");
      await queue.getByText("1 queued").waitFor();
      await walk(page, "Tab", { name: "Stop" });
      await page.keyboard.press("Enter");
      await queue.getByText("Queue paused").waitFor();
    },
  },
  {
    name: "paused",
    path: async () => {
      const id = await startThread(journeys.stage, other, "slow ms=600000");
      await other.call("turn/start", { threadId: id, text: "say resumed" });
      await other.call("turn/interrupt", { threadId: id, pauseQueue: true });
      await until(other, id, "idle");
      return `threads/${id}`;
    },
    keys: async (page) => {
      await page.getByText("Queue paused").waitFor();
      await walk(page, "Tab", { name: "Send next" });
      await page.keyboard.press("Enter");
      await page.locator(".th-agent", { hasText: "resumed" }).first().waitFor();
    },
  },
  {
    name: "opened-diff",
    path: async () => `threads/${journeys.threads.work}`,
    keys: async (page) => {
      await openWorkByKeys(page, "edit");
      await page.getByRole("button", { name: "Split" }).first().waitFor();
      await walk(page, "Tab", { name: "Split" });
      await page.keyboard.press("Enter");
      await page.locator(".th-diff-split").first().waitFor();
    },
  },
  {
    name: "output-viewer",
    path: async () => `threads/${journeys.threads.work}`,
    keys: async (page) => {
      await openWorkByKeys(page, "execute");
      await page.getByRole("button", { name: "Open all" }).first().waitFor();
      await walk(page, "Tab", { name: "Open all" });
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").locator(".th-terminal-line").first().waitFor();
      await page.keyboard.press("Escape");
      await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe("Open all");
    },
  },
  {
    name: "away",
    keys: async (page) => {
      await journeys.comeBack(page);
      await page.locator(".away summary").waitFor();
      // It is before the form, which has the focus.
      await walk(page, "Shift+Tab", { selector: ".away summary" });
      await page.keyboard.press("Enter");
      await page.locator(".away-entry", { hasText: "A command" }).waitFor();
      await walk(page, "Tab", { selector: ".away-entry" });
      await page.keyboard.press("Enter");
      await page.waitForURL("**/threads/*");
    },
  },
  {
    name: "form",
    path: async () => {
      const id = await startThread(journeys.stage, other, "elicit");
      await until(other, id, "waiting");
      return `threads/${id}`;
    },
    keys: async (page) => {
      await page.locator("[data-question]").waitFor();
      const id = await page.locator("[data-question]").getByLabel(/Name/).first().getAttribute("id");
      await walk(page, "Tab", { selector: `[id="${id}"]` });
      await page.keyboard.type("Ann");
      await walk(page, "Tab", { name: "Send answer" });
      await page.keyboard.press("Enter");
      await page.locator(".virtual-line", { hasText: "elicited accept" }).first().waitFor();
    },
  },
  {
    name: "search",
    path: async () => "agents",
    keys: async (page) => {
      await page.keyboard.press("/");
      // A drawer opens first.
      await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("search");
      await page.keyboard.type("answer");
      await page.locator(".is-hit").first().waitFor();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await page.waitForURL("**/threads/*");
    },
  },
  {
    name: "palette",
    path: async () => "agents",
    keys: async (page) => {
      await page.keyboard.press("Control+k");
      await page.getByRole("dialog", { name: "Command palette" }).waitFor();
      await page.keyboard.type("archive");
      await page.getByRole("option", { name: "Archive", exact: true }).first().waitFor();
      await page.keyboard.press("Enter");
      await page.waitForURL("**/archive");
    },
  },
  {
    name: "agents",
    path: async () => "agents",
    keys: async (page) => {
      await page.getByRole("button", { name: "Check fake" }).waitFor();
      await walk(page, "Tab", { name: "Check fake" });
      await page.keyboard.press("Enter");
      await page.locator(".agent", { hasText: "Started in" }).waitFor();
    },
  },
  {
    name: "policy",
    path: async () => `threads/${journeys.threads.rest}/policy`,
    keys: async (page) => {
      await page.locator("#explain-subject").waitFor();
      await walk(page, "Tab", { selector: "#explain-subject" });
      await page.keyboard.type("rm -rf x");
      await page.keyboard.press("Enter");
      await page.locator(".explained-head", { hasText: "Denied" }).waitFor();
    },
  },
  {
    name: "settings",
    path: async () => "agents",
    keys: async (page) => {
      await openListByKeys(page);
      await walk(page, "Tab", { name: "Settings" });
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").getByText("Appearance").waitFor();
      await walk(page, "Tab", { selector: "[name=theme]" });
      await page.keyboard.press("ArrowRight");
      await expect.poll(() => page.evaluate(() => document.documentElement.dataset.theme)).toBeDefined();
      await page.keyboard.press("Escape");
      await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toBe("Settings");
    },
  },
  {
    name: "archive",
    path: async () => {
      const id = await startThread(journeys.stage, other, "say archived", { name: "By keys again" });
      await until(other, id, "idle");
      await other.call("thread/archive", { threadId: id });
      return "archive";
    },
    keys: async (page) => {
      await page.locator(".page", { hasText: "By keys again" }).waitFor();
      await walk(page, "Tab", { selector: ".page button" });
      await page.keyboard.press("Enter");
      await page.locator(".page", { hasText: "By keys again" }).waitFor({ state: "detached" });
    },
  },
  {
    name: "folder-dialog",
    keys: async (page) => {
      await page.locator(".home-form").waitFor();
      // The form may still get what the daemon suggests.
      await connected(page);
      await walk(page, "Tab", { selector: "#folder" });
      await page.keyboard.press("Control+a");
      await page.keyboard.type("~/");
      await page.keyboard.press("Escape");
      await walk(page, "Tab", { name: "Choose…" });
      await page.keyboard.press("Enter");
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("button", { name: "sessions" }).waitFor();
      await walk(page, "Tab", { name: "work" });
      await page.keyboard.press("Enter");
      await dialog.getByText("No folders in it.").waitFor();
      await walk(page, "Tab", { name: "Use this folder" });
      await page.keyboard.press("Enter");
      await expect.poll(() => page.locator("#folder").inputValue()).toBe(journeys.stage.daemon.work);
    },
  },
  {
    name: "filters",
    path: async () => "agents",
    keys: async (page) => {
      await openListByKeys(page);
      await walk(page, "Tab", { name: "Filter" });
      await page.keyboard.press("Enter");
      const filters = page.getByRole("group", { name: "Filter" });
      await filters.getByLabel("Status", { exact: true }).waitFor();
      await walk(page, "Tab", { selector: "select[aria-label=Status]" });
      // The letter of an option selects it, in every browser.
      await page.keyboard.type("Fail");
      await expect.poll(() => page.locator(".side-list .row-name").allInnerTexts()).toEqual(expect.arrayContaining(["A failure"]));
      await expect.poll(() => page.locator(".side-list .row-name").allInnerTexts()).not.toContain("At rest");
    },
  },
  {
    name: "rename",
    path: async () => {
      const id = await startThread(journeys.stage, other, "say hello", { name: "By its old name" });
      await until(other, id, "idle");
      return `threads/${id}`;
    },
    keys: async (page) => {
      await pickByKeys(page, "By its old name", "Rename…");
      await page.getByRole("dialog", { name: "Rename thread" }).waitFor();
      await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("rename");
      await page.keyboard.press("Control+a");
      await page.keyboard.type("By its new name");
      await page.keyboard.press("Enter");
      await page.locator(".view-head h1", { hasText: "By its new name" }).waitFor();
    },
  },
  {
    name: "share-dialog",
    path: async () => `threads/${journeys.threads.rest}`,
    keys: async (page) => {
      await pickByKeys(page, "At rest", "Share…");
      const dialog = page.getByRole("dialog", { name: "Share thread" });
      await dialog.getByRole("button", { name: "Create link" }).waitFor();
      await walk(page, "Tab", { name: "Create link" });
      await page.keyboard.press("Enter");
      await expect.poll(() => dialog.getByLabel("New link").inputValue()).toContain("#share=");
    },
  },
  {
    name: "usage",
    path: async () => "usage",
    keys: async (page) => {
      await page.locator(".page :is(.usage, .empty)").first().waitFor();
      await walk(page, "Tab", { selector: ".usage-picks select" });
      // The letters of an option select it, in every browser.
      await page.keyboard.type("Age");
      await expect.poll(() => page.locator(".usage-picks select").first().inputValue()).toBe("agent");
      await page.locator(".page :is(.usage, .empty)").first().waitFor();
    },
  },
  {
    name: "shortcuts",
    path: async () => "agents",
    keys: async (page) => {
      await page.keyboard.press("?");
      const dialog = page.getByRole("dialog", { name: "Keyboard shortcuts" });
      await dialog.waitFor();
      await page.keyboard.press("Escape");
      await expect.poll(() => dialog.count()).toBe(0);
    },
  },
  {
    name: "export",
    path: async () => `threads/${journeys.threads.rest}`,
    keys: async (page) => {
      await pickByKeys(page, "At rest", "Export…");
      await page.getByRole("dialog", { name: "Export thread" }).waitFor();
      await walk(page, "Tab", { selector: ".format" });
      const [download] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Enter")]);
      expect(download.suggestedFilename()).toBe("At rest.md");
    },
  },
  {
    name: "failed",
    path: async () => {
      const id = await startThread(journeys.stage, other, "error message='the model is overloaded'");
      await until(other, id, "idle");
      return `threads/${id}`;
    },
    keys: async (page) => {
      await walk(page, "Tab", { name: "Try again" });
      await page.keyboard.press("Enter");
      await expect.poll(() => page.locator(".th-turn-error").count()).toBe(2);
      await walk(page, "Tab", { name: "Edit as a new message" });
      await page.keyboard.press("Enter");
      await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("TEXTAREA");
    },
  },
  {
    name: "sign-in",
    signedOut: true,
    keys: async (page) => {
      await page.locator("#token").waitFor();
      await walk(page, "Tab", { selector: "#token" });
      await page.keyboard.type(await journeys.stage.daemon.token());
      await page.keyboard.press("Enter");
      await page.locator(".home-form").waitFor();
    },
  },
];

async function goByKeys({ path, signedOut, keys }: ByKeys, options: PageOptions = {}): Promise<Page> {
  const address = await path?.();
  const page = await journeys.stage.page({ ...options, signIn: !signedOut });
  if (address?.startsWith("threads/") && !address.endsWith("/policy")) {
    await openThread(journeys.stage, page, address.slice("threads/".length));
  } else if (address !== undefined) {
    await journeys.view(page, address);
  }
  await keys(page);
  return page;
}

test.each(BY_KEYS)("$name works by keys alone", async (journey) => {
  const page = await goByKeys(journey);
  await page.context().close();
});

// A window is zoomed at a desk, where there is a mouse.
describe.each(SIZES.filter(({ viewport }) => viewport.width < 700))("in a window that is $size", ({ size, viewport }) => {
  test.each(BY_KEYS)("$name works by keys alone, and axe finds nothing at its end", async (journey) => {
    const page = await goByKeys(journey, { size: viewport, touch: size === "phone" });
    await expect.poll(() => beyond(page)).toEqual([]);
    await accessible(page);
    await page.context().close();
  });
});

test("what is typed while the palette is being loaded is no shortcut", async () => {
  const page = await journeys.stage.page();
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route(
    /\/Palette-.*\.js$/,
    answering(async (route) => {
      await held;
      await route.fallback();
    }),
  );
  // The page itself may begin to load it before the key is pressed.
  const asked = page.waitForRequest(/\/Palette-.*\.js$/);
  asked.catch(() => {});
  await journeys.view(page, "agents");
  await page.keyboard.press("Control+k");
  await asked;
  await page.keyboard.press("n");
  release();
  await page.getByRole("dialog", { name: "Command palette" }).waitFor();
  expect(new URL(page.url()).pathname).toBe("/agents");
});
