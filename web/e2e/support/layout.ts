/**
 * The layout of a page, in two forms that survive small differences of rendering: the boxes of what users see and press,
 * and a small picture. Compared with those in `e2e/layouts`; with ACPD_LAYOUTS=update they are written there instead.
 */

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { assert, vi } from "vitest";

import type { Browser, BrowserContext, Page } from "playwright-core";

import { answering } from "./answering.ts";
import { boxesOf, comparePictures, loadFonts, looksOf, shrink } from "./layout-page.ts";

const KEPT = fileURLToPath(new URL("../layouts/", import.meta.url));
const OUT = fileURLToPath(new URL("../out/", import.meta.url));
const UPDATES = process.env.ACPD_LAYOUTS === "update";

/** Maximum distance of an edge from where it was, in pixels. */
const TOLERANCE = 4;
/** Maximum number of differences that are listed for one page. */
const SHOWN = 8;

/** The time on all pages, in milliseconds since the epoch, and the pattern of the daemon's times. */
const NOW = Date.UTC(2026, 0, 15, 12);
const TIMES = /\b1[6-9]\d{11}\b/g;
/** The daemon's folder on all pages, and the pattern of its name. */
const FOLDER = "acpd-web-000000000";
const FOLDERS = /acpd-web-\d{9}/;
/** The name of the daemon's host on all pages. */
const HOST = "box";
/** How much slower the time of pages is, so that all durations are as short as can be. */
const SLOWER = 100;

/** The fonts of all pages. The last one has the Chinese and Japanese characters. */
export const FONTS = ["DejaVu Sans", "DejaVu Sans Mono", "Droid Sans Fallback"];

/** The styles of all pages: their fonts, which come first, and no caret, which would blink. */
const STYLES = [
  `:root:root { --font-ui: "DejaVu Sans", "Droid Sans Fallback"; --font-mono: "DejaVu Sans Mono", "Droid Sans Fallback"; --font-terminal: var(--font-mono); }`,
  `* { caret-color: transparent !important; }`,
];

/** The daemon's folder on all pages, as a path. */
export const ROOT = join(tmpdir(), FOLDER);
/** Texts of the daemon, and those that the page receives instead. */
export type Words = readonly (readonly [string, string])[];

/** The requests to the daemon that have no answer yet, of the latest connection of each browser context. */
const unanswered = new WeakMap<BrowserContext, Map<string, string>>();

interface Message {
  id?: string | number | null;
  method?: string;
}

/** Makes the times, durations and fonts of pages the same in every run. Times keep their order. */
export function freeze(context: BrowserContext): Promise<void> {
  return freezeWith(context, []);
}

/** Does what {@link freeze} does, and shows other texts in place of some of the daemon's. */
export async function freezeWith(context: BrowserContext, words: Words): Promise<void> {
  const shown = (text: string) => words.reduce((all, [was, is]) => all.replaceAll(was, is), text);
  const meant = (text: string) => words.reduceRight((all, [was, is]) => all.replaceAll(is, was), text);
  const begin = Date.now();
  const fixed = (text: string) =>
    text.replace(TIMES, (time) => String(NOW + Math.round((Number(time) - begin) / SLOWER))).replace(/"host":"[^"]*"/g, `"host":"${HOST}"`);
  await context.routeWebSocket(/\/ws/, (socket) => {
    const server = socket.connectToServer();
    let folder = FOLDER;
    const open = new Map<string, string>();
    unanswered.set(context, open);
    socket.onMessage((message) => {
      const { id, method } = JSON.parse(String(message)) as Message;
      if (id != null && method !== undefined) {
        open.set(String(id), method);
      }
      server.send(meant(String(message)).replaceAll(FOLDER, folder));
    });
    server.onMessage((message) => {
      const { id, method } = JSON.parse(String(message)) as Message;
      if (method === undefined) {
        open.delete(String(id));
      }
      folder = FOLDERS.exec(String(message))?.[0] ?? folder;
      socket.send(shown(fixed(String(message)).replaceAll(folder, FOLDER)));
    });
    socket.onClose((code, reason) => {
      open.clear();
      void server.close({ code, reason });
    });
  });
  await context.route(
    "**/api/session",
    answering(async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: fixed(await response.text()) });
    }),
  );
  await context.clock.setFixedTime(NOW);
  await context.addInitScript((styles) => {
    document.adoptedStyleSheets = styles.map((style) => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(style);
      return sheet;
    });
  }, STYLES);
}

/** Shows a frozen page in its own fonts while something is done with it. */
export async function inItsFonts(page: Page, act: () => Promise<void>): Promise<void> {
  const setFrozen = (frozen: boolean) => page.evaluate((frozen) => void (document.adoptedStyleSheets[0]!.disabled = !frozen), frozen);
  const families = await page.evaluate(loadFonts);
  assert.deepEqual(families, ["Inter", "JetBrains Mono"], "the fonts that the page brings along");
  await setFrozen(false);
  try {
    await act();
  } finally {
    await setFrozen(true);
  }
}

/** Returns one line for each visible part of a page. */
export async function layoutOf(page: Page): Promise<string[]> {
  return (await page.evaluate(boxesOf)).map(({ label, box }) => `${label} | ${box.join(" ")}`);
}

/** Compares the boxes of a page with those in a file, or writes them there. */
export async function boxDifferences(page: Page, path: string, updates: boolean): Promise<string[]> {
  const lines = await layoutOf(page);
  if (updates) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, `${lines.join("\n")}\n`);
    return [];
  }
  const stored = (await readFile(path, "utf8")).trimEnd().split("\n");
  return boxDifferencesOf(stored, lines);
}

/** Compares the colours and fonts of a page with those in a file, or writes them there. */
export async function lookDifferences(page: Page, path: string, updates: boolean): Promise<string[]> {
  const looks = await page.evaluate(looksOf);
  if (updates) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, `${looks.join("\n")}\n`);
    return [];
  }
  const stored = (await readFile(path, "utf8")).trimEnd().split("\n");
  return [...stored.filter((line) => !looks.includes(line)).map((line) => `before: ${line}`), ...looks.filter((line) => !stored.includes(line)).map((line) => `now: ${line}`)];
}

/** Compares the lines of boxes: the same parts in the same order, with edges at the same places. */
export function boxDifferencesOf(stored: readonly string[], lines: readonly string[]): string[] {
  const parse = (line: string): [string, number[]] => {
    const at = line.lastIndexOf(" | ");
    return [line.slice(0, at), line.slice(at + 3).split(" ").map(Number)];
  };
  const [before, after] = [stored.map(parse), lines.map(parse)];
  const labels = (list: readonly (readonly [string, number[]])[]) => list.map(([label]) => label);
  const [old, now] = [labels(before), labels(after)];
  if (old.join("\n") !== now.join("\n")) {
    const count = (list: string[], label: string) => list.filter((one) => one === label).length;
    const changed = [...new Set([...old, ...now])].filter((label) => count(old, label) !== count(now, label));
    const named = changed.map((label) => `${label}: ${count(old, label)} before, ${count(now, label)} now`);
    return named.length > 0 ? named : ["the parts of the page are in another order"];
  }
  return after.flatMap(([label, box], at) => {
    const was = before[at]![1];
    return box.some((edge, side) => Math.abs(edge - was[side]!) > TOLERANCE) ? [`${label}: ${was.join(" ")} before, ${box.join(" ")} now`] : [];
  });
}

/** The page of each browser in which pictures are compared. */
const papers = new WeakMap<Browser, Promise<Page>>();

function paperOf(browser: Browser): Promise<Page> {
  const paper = papers.get(browser) ?? browser.newPage();
  papers.set(browser, paper);
  return paper;
}

/** Compares the picture of a page with the stored one. Writes one that differs to `out`. */
async function pictureDifferences(page: Page, name: string): Promise<string[]> {
  const picture = (await page.screenshot({ animations: "disabled" })).toString("base64");
  const paper = await paperOf(page.context().browser()!);
  const small = await paper.evaluate(shrink, picture);
  const path = `${KEPT}${name}.png`;
  if (UPDATES) {
    await mkdir(KEPT, { recursive: true });
    await writeFile(path, Buffer.from(small, "base64"));
    return [];
  }
  const stored = (await readFile(path)).toString("base64");
  const { cells, marked } = await paper.evaluate(comparePictures, { stored, small });
  if (cells.length > 0) {
    await mkdir(OUT, { recursive: true });
    await writeFile(`${OUT}${name}.png`, Buffer.from(picture, "base64"));
    await writeFile(`${OUT}${name}-differences.png`, Buffer.from(marked, "base64"));
  }
  return cells;
}

/**
 * Waits until the daemon has answered all requests of a page, nothing has changed in it for some frames, and nothing
 * moves, except what moves for ever.
 */
export async function atRest(page: Page): Promise<void> {
  // The answers of waiting rows are loaded when the first such row is shown, and wait until the rows keep their places.
  await page.waitForFunction(() =>
    [...document.querySelectorAll(".row.is-asking")].every(
      (row) => row.querySelector(".row-answers button") && !row.querySelector(".row-answers [aria-disabled]"),
    ),
  );
  // What is still being loaded has no place yet, and moves what is below it once it comes.
  const open = () => [...(unanswered.get(page.context())?.values() ?? [])];
  do {
    await vi.waitFor(() => assert.deepEqual(open(), [], "requests without an answer"), { timeout: 20_000 });
    await page.evaluate(still);
  } while (open().length > 0);
}

/** Waits until nothing has changed for some frames, and nothing moves. Runs in a page. */
async function still(): Promise<void> {
  await document.fonts.ready;
  let quiet = 0;
  const observer = new MutationObserver(() => (quiet = 0));
  observer.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
  while (quiet++ < 10) {
    await new Promise(requestAnimationFrame);
  }
  observer.disconnect();
  // Those that follow a scroll position never end.
  const inTime = document.getAnimations().filter(({ timeline }) => timeline === document.timeline);
  const moves = inTime.filter(({ effect }) => effect?.getComputedTiming().iterations !== Infinity);
  await Promise.allSettled(moves.map(({ finished }) => finished));
}

/** Returns the differences between the layout of a page and the stored one. */
export async function layoutDifferences(page: Page, journey: string, size: string, theme: string): Promise<string[]> {
  await atRest(page);
  const boxes = await boxDifferences(page, `${KEPT}${journey}-${size}.txt`, UPDATES);
  const cells = await pictureDifferences(page, `${journey}-${size}-${theme}`);
  // One moved block moves everything below it.
  const found = [...boxes, ...cells];
  const more = found.length > SHOWN ? [`and ${found.length - SHOWN} more`] : [];
  return [...found.slice(0, SHOWN), ...more].map((one) => `${journey}-${size}-${theme}: ${one}`);
}
