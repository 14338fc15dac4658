/** Debian's Chromium, signed in. Records everything that a page must not do. */

import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

import { type Browser, type BrowserContext, chromium, type Page, request } from "playwright-core";

import { type Cable, layCable } from "./cable.ts";
import { Daemon, type DaemonOptions } from "./daemon.ts";
import { type Front, isBuiltIn, putInPlace, serveInFront } from "./ui.ts";

const OUT = fileURLToPath(new URL("../out/", import.meta.url));
const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };

let running: Browser | undefined;

async function browser(): Promise<Browser> {
  running ??= await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  return running;
}

async function endBrowser(): Promise<void> {
  await running?.close();
  running = undefined;
}

export interface PageOptions {
  size?: { width: number; height: number };
  /** Whether the page is touched; by default, a narrow one is. */
  touch?: boolean;
  dark?: boolean;
  /** The token to sign in with; the owner's by default. */
  token?: string;
  signIn?: boolean;
  /** Permissions to grant in the browser, such as `notifications`. */
  permissions?: string[];
  /** Changes the browser context before the page is loaded. */
  prepare?: (context: BrowserContext) => Promise<void>;
}

/** A daemon, the cable to it, and pages. */
export class Stage {
  /** The stages of the test file that have not ended. */
  static readonly all = new Set<Stage>();
  readonly #contexts: BrowserContext[] = [];
  /** Violations by pages: of the content security policy, errors, requests to other servers. */
  readonly wrongs: string[] = [];

  private constructor(
    readonly daemon: Daemon,
    readonly cable: Cable,
    private readonly builtIn: boolean,
    /** The server that has the UI, if pages may install its service worker. */
    readonly front?: Front,
  ) {
    Stage.all.add(this);
  }

  /** With `workers`, pages may install the service worker. In other tests nothing is between the page and the daemon. */
  static async set({ first = [], config = [], ...options }: DaemonOptions = {}, { workers = false } = {}): Promise<Stage> {
    let daemon: Daemon | undefined;
    const front = workers ? await serveInFront(() => daemon!.address) : undefined;
    const cable = await layCable(() => front?.address ?? daemon!.address);
    // Pages connect to the cable's end, whose address the daemon must accept as a host.
    const server = ["[server]", `hosts = ["${cable.address}"]`];
    try {
      daemon = await Daemon.start({ ...options, config: [...first, ...server, ...config] });
      const builtIn = await isBuiltIn(`http://${daemon.address}`);
      if (front) {
        front.isBuiltIn = builtIn;
      }
      return new Stage(daemon, cable, builtIn, front);
    } catch (error) {
      // Without a stage, the caller could not clean up.
      await cable.end();
      await front?.end();
      await daemon?.end();
      throw error;
    }
  }

  get url(): string {
    return `http://${this.cable.address}`;
  }

  /** Returns the pages that are open. */
  pages(): Page[] {
    return this.#contexts.flatMap((context) => context.pages());
  }

  /** Opens the UI in a page of a new browser context. */
  async page({ size = DESKTOP, touch = size.width < 700, dark, token, signIn = true, permissions = [], prepare }: PageOptions = {}): Promise<Page> {
    const context = await (await browser()).newContext({
      ...(signIn && { storageState: await this.#signIn(token ?? (await this.daemon.token())) }),
      viewport: size,
      colorScheme: dark ? "dark" : "light",
      hasTouch: touch,
      ...(prepare && { reducedMotion: "reduce" as const }),
      permissions,
      serviceWorkers: this.front ? "allow" : "block",
    });
    this.#contexts.push(context);
    if (!this.builtIn && !this.front) {
      await putInPlace(context, this.url);
    }
    await prepare?.(context);
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    page.on("request", (request) => {
      const { origin, protocol } = new URL(request.url());
      if (origin !== this.url && protocol.startsWith("http")) {
        this.wrongs.push(`asked ${request.url()}`);
      }
    });
    page.on("pageerror", (error) => this.wrongs.push(`failed: ${error.stack ?? error.message}`));
    page.on("console", (message) => {
      if (/Content.Security.Policy/i.test(message.text())) {
        this.wrongs.push(message.text());
      }
    });
    await page.goto(this.url);
    return page;
  }

  /** Returns the stored state of a browser that has signed in before. */
  async #signIn(token: string) {
    const asking = await request.newContext();
    const answer = await asking.post(`${this.url}/api/session`, { data: { token }, headers: { origin: this.url } });
    assert.ok(answer.ok(), `signing in: ${answer.status()}`);
    const { pageKey } = (await answer.json()) as { pageKey: string };
    const { cookies } = await asking.storageState();
    await asking.dispose();
    return { cookies, origins: [{ origin: this.url, localStorage: [{ name: "acpd.page-key", value: pageKey }] }] };
  }

  async end(): Promise<void> {
    Stage.all.delete(this);
    for (const context of this.#contexts) {
      await context.close();
    }
    await this.cable.end();
    await this.front?.end();
    await this.daemon.end();
    await endBrowser();
    assert.deepEqual(this.wrongs, []);
  }
}

/** Saves a screenshot. */
export async function shoot(page: Page, name: string): Promise<void> {
  await mkdir(OUT, { recursive: true });
  await page.screenshot({ path: `${OUT}${name}.png`, animations: "disabled" });
}

/** Fails if the page has accessibility problems. */
export async function accessible(page: Page): Promise<void> {
  // The content security policy blocks script tags, but not the browser's own evaluation.
  const { readFile } = await import("node:fs/promises");
  await page.evaluate(await readFile(AXE, "utf8"));
  const found = await page.evaluate(async () => {
    const { axe } = window as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } };
    interface Violation {
      id: string;
      impact?: string | null;
      nodes: { html: string; failureSummary?: string }[];
    }
    const { violations } = await axe.run();
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html}\n${failureSummary}`).join("\n")}`);
  });
  assert.deepEqual(found, []);
}
