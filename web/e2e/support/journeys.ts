/** The main journeys, each at the point that matters: for tests that look at all of them. */

import type { Client } from "@acpd/client";
import type { Page } from "playwright-core";

import { openThread, row, settled, startThread, until } from "./acts.ts";
import { cameBack } from "./away.ts";
import { type PageOptions, Stage } from "./browser.ts";
import { FAKE_AGENT } from "./daemon.ts";
import { type Registry, serveRegistry } from "./registry.ts";

export interface Journey {
  readonly name: string;
  /** Leads a page there. */
  readonly go: (page: Page, journeys: Journeys) => Promise<void>;
  /** The part of the page that the user has come for; it must be in sight. */
  readonly wanted: string;
  /** Only on phones. */
  readonly narrow?: boolean;
  readonly signedOut?: boolean;
  /** At a daemon without agents. */
  readonly bare?: boolean;
}

type ThreadName = "rest" | "running" | "command" | "edit" | "form" | "failed" | "paused" | "signedOut" | "work" | "scripts";

/** A daemon with a thread for each journey, and one without agents. */
export class Journeys {
  private constructor(
    readonly stage: Stage,
    private readonly bare: Stage,
    private readonly registry: Registry,
    readonly threads: Readonly<Record<ThreadName, string>>,
  ) {}

  static async set(): Promise<Journeys> {
    const stage = await Stage.set({
      // Which agents are installed must not depend on the machine.
      path: "/nowhere",
      config: [
        "[agents.absent]",
        'command = "/nowhere/agent"',
        "[agents.locked]",
        'title = "Acme"',
        `command = ${JSON.stringify(FAKE_AGENT)}`,
        'args = ["--pace", "0", "--sign-in"]',
        "[policy]",
        'ask = ["WebFetch"]',
        'deny = ["Bash(rm *)"]',
      ],
    });
    const registry = await serveRegistry();
    let bare: Stage | undefined;
    try {
      bare = await Stage.set({ agentName: null, path: "/nowhere", first: registry.config });
      await bare.daemon.run("agents", "update");
      const other = await stage.daemon.client("other-program");
      return new Journeys(stage, bare, registry, await threads(stage, other));
    } catch (error) {
      registry.end();
      await bare?.end();
      await stage.end();
      throw error;
    }
  }

  /** Returns a function that returns the page for a journey. Those that begin alike share one. */
  pages(options: PageOptions): (journey: Journey) => Promise<Page> {
    const pages = new Map<string, Promise<Page>>();
    return ({ signedOut, bare }) => {
      const kind = `${signedOut} ${bare}`;
      const page = pages.get(kind) ?? (bare ? this.bare : this.stage).page({ ...options, signIn: !signedOut });
      pages.set(kind, page);
      return page;
    };
  }

  async end(): Promise<void> {
    this.registry.end();
    await this.bare.end();
    await this.stage.end();
  }

  /** Leads a page to a journey, and waits until it has everything. */
  async go({ go, signedOut, bare }: Journey, page: Page): Promise<void> {
    await page.goto((bare ? this.bare : this.stage).url);
    await go(page, this);
    if (!signedOut && !bare) {
      await page.locator(`[data-thread="${this.threads.rest}"], .is-hit`).first().waitFor({ state: "attached" });
      // The answers are there once the question has been read, and take clicks once they have been in sight for a while.
      const answers = page.locator(`[data-thread="${this.threads.command}"] .row-answers button`, { hasText: "Allow once" });
      await answers.or(page.locator(".is-hit")).first().waitFor({ state: "attached" });
      if (await answers.first().isVisible()) {
        await page.locator(`[data-thread="${this.threads.command}"] .row-answers button:not([aria-disabled])`, { hasText: "Allow once" }).first().waitFor();
      }
      await page.getByText("Offline. Your draft is saved.").waitFor({ state: "detached" });
    }
    // What is below the pointer looks otherwise.
    await page.mouse.move(0, 0);
  }

  /** Opens a page of a thread at its end. */
  async thread(page: Page, name: ThreadName): Promise<void> {
    await openThread(this.stage, page, this.threads[name]);
    await settled(page.getByRole("feed"));
  }

  /** Begins another visit, long after the last one. */
  async comeBack(page: Page): Promise<void> {
    await page.goto(`${this.stage.url}/favicon.svg`);
    await cameBack(page, 1);
    await page.goto(this.stage.url);
  }

  async view(page: Page, path: string): Promise<void> {
    await page.goto(`${this.stage.url}/${path}`);
    await page.locator(".page").waitFor();
  }
}

/** Chinese and Japanese text. */
const SCRIPTS = "修正登入頁面，ログイン画面を直す。";
const WORK = "say I will look first.; tool kind=read path=src/a.rs; tool kind=search; tool kind=edit; tool kind=execute; ";

async function threads(stage: Stage, other: Client): Promise<Record<ThreadName, string>> {
  // The list has the latest thread first, so each is there before the next one begins.
  const start = async (name: string, text: string, status: string) => {
    const id = await startThread(stage, other, text, { name });
    await until(other, id, status);
    return id;
  };
  const old = await start("An archived thread", "say old", "idle");
  await other.call("thread/archive", { threadId: old });
  const rest = await start("At rest", `${WORK}say 'The **first** answer, with \`code\`.'`, "idle");
  await other.call("turn/start", { threadId: rest, text: `${WORK}say 'The second answer.'` });
  await until(other, rest, "idle");
  const work = await start("Opened", "say start; tool kind=edit path=src/a.rs; terminal /usr/bin/seq 60; say 'All done.'", "idle");
  const scripts = await start(SCRIPTS, `say '${SCRIPTS}\n\n- 第一項：\`設定を保存\`\n- 第二項：繁體中文と简体中文'`, "idle");
  const failed = await start("A failure", "say before; error message='the model is overloaded'", "idle");
  const paused = await start("Paused", "slow ms=600000", "running");
  for (const text of ["say the second", "say the third"]) {
    await other.call("turn/start", { threadId: paused, text });
  }
  await other.call("turn/interrupt", { threadId: paused, pauseQueue: true });
  await until(other, paused, "idle");
  const signedOut = await refused(stage, other);
  const form = await start("A form", "elicit", "waiting");
  const edit = await start("An edit", "permission kind=edit", "waiting");
  const command = await start("A command", "permission kind=execute command='npm run test -- --coverage'", "waiting");
  const running = await start("Running", "plan; tool kind=read; slow ms=600000", "running");
  for (const text of ["say the second", "say the third"]) {
    await other.call("turn/start", { threadId: running, text });
  }
  return { rest, work, scripts, failed, paused, signedOut, form, edit, command, running };
}

/** Starts a thread whose agent wants a sign-in; returns its id. */
async function refused(stage: Stage, other: Client): Promise<string> {
  await startThread(stage, other, "say hello", { agentType: "locked", name: "Signed out" }).catch(() => {});
  const { data } = await other.call("thread/list", { agentType: "locked", limit: 1 });
  return data[0]!.id;
}

/** Opens the work of the last turn of a thread. */
async function openWork(page: Page, journeys: Journeys, name: ThreadName): Promise<void> {
  await journeys.thread(page, name);
  // What was opened stays open.
  if ((await page.locator(".th-work").last().getAttribute("aria-expanded")) === "false") {
    await page.locator(".th-work").last().click();
  }
  await settled(page.getByRole("feed"));
}

async function openFold(page: Page, selector: string): Promise<void> {
  const summary = page.locator(`${selector} summary`).first();
  await summary.waitFor();
  if (!(await summary.evaluate((at) => (at.parentElement as HTMLDetailsElement).open))) {
    await summary.click({ position: { x: 8, y: 8 } });
  }
}

const question = (name: "command" | "edit" | "form") => async (page: Page, journeys: Journeys) => {
  await openThread(journeys.stage, page, journeys.threads[name]);
  await page.locator("[data-question]").waitFor();
  if (name === "edit") {
    await page.locator("[data-question] .th-diff [class*=hljs-]").first().waitFor();
  }
  // In a low or narrow window, the question is all that is shown.
  if (await page.getByRole("feed").isVisible()) {
    await settled(page.getByRole("feed"));
  }
};

/** Opens a dialog of a thread's menu. */
const dialog = (item: string, title: string) => async (page: Page, journeys: Journeys) => {
  await journeys.thread(page, "rest");
  await page.locator(".view-head").getByRole("button", { name: "More about At rest" }).click();
  await page.getByRole("menuitem", { name: item }).click();
  await page.getByRole("dialog", { name: title }).waitFor();
};

export const JOURNEYS: readonly Journey[] = [
  {
    name: "new-thread",
    go: (page) => page.locator(".home-form").waitFor(),
    wanted: "#prompt",
  },
  {
    name: "conversation",
    go: async (page, journeys) => {
      await journeys.thread(page, "rest");
      await page.locator(".th-work").last().click();
      await page.locator(".th-group").waitFor();
      await settled(page.getByRole("feed"));
    },
    wanted: ".pane textarea",
  },
  {
    name: "running",
    go: async (page, journeys) => {
      await journeys.thread(page, "running");
      await page.getByRole("region", { name: "Queue" }).or(page.locator(".th-queue")).first().waitFor();
    },
    wanted: ".pane textarea",
  },
  { name: "approval-command", go: question("command"), wanted: "[data-question] .th-answers button" },
  { name: "approval-edit", go: question("edit"), wanted: "[data-question] .th-answers button" },
  { name: "form", go: question("form"), wanted: "[data-question] .th-answers button" },
  {
    name: "search",
    go: async (page, journeys) => {
      await journeys.view(page, "agents");
      if (await page.locator(".drawer-button").isVisible()) {
        await page.locator(".drawer-button").click();
      }
      await page.fill("#search", "answer");
      await page.locator(".row-link.is-hit").first().waitFor();
    },
    wanted: "#search",
  },
  {
    name: "palette",
    go: async (page, journeys) => {
      await journeys.view(page, "agents");
      await page.keyboard.press("Control+k");
      await page.getByRole("dialog", { name: "Command palette" }).getByRole("option").first().waitFor();
    },
    wanted: "dialog input",
  },
  {
    name: "agents",
    go: async (page, journeys) => {
      await journeys.view(page, "agents");
      await page.locator(".agent", { hasText: "absent" }).waitFor();
    },
    wanted: ".view-title h1",
  },
  {
    name: "policy",
    go: async (page, journeys) => {
      await journeys.view(page, "policy");
      await page.locator(".policy-layer", { hasText: "WebFetch" }).first().waitFor();
    },
    wanted: ".view-title h1",
  },
  {
    name: "settings",
    go: async (page, journeys) => {
      await journeys.view(page, "agents");
      if (await page.locator(".drawer-button").isVisible()) {
        await page.locator(".drawer-button").click();
      }
      await page.getByRole("button", { name: "Settings" }).click();
      await page.getByRole("dialog").getByText("Appearance").waitFor();
    },
    wanted: "dialog [name=theme]",
  },
  {
    name: "archive",
    go: async (page, journeys) => {
      await journeys.view(page, "archive");
      await page.getByText("An archived thread").waitFor();
    },
    wanted: ".view-title h1",
  },
  {
    name: "usage",
    go: async (page, journeys) => {
      await journeys.view(page, "usage");
      // Days are others in each run.
      await page.locator(".usage-picks select").first().selectOption("agent");
      await page.locator(".page :is(.usage, .empty)").first().waitFor();
    },
    wanted: ".view-title h1",
  },
  { name: "rename", go: dialog("Rename…", "Rename thread"), wanted: "#rename" },
  { name: "export", go: dialog("Export…", "Export thread"), wanted: "dialog h2" },
  { name: "share-dialog", go: dialog("Share…", "Share thread"), wanted: "dialog h2" },
  {
    name: "shortcuts",
    go: async (page, journeys) => {
      await journeys.view(page, "agents");
      await page.keyboard.press("?");
      await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    },
    wanted: "dialog h2",
  },
  {
    name: "setup",
    go: (page) => page.getByRole("button", { name: "Install Looped" }).waitFor(),
    wanted: ".home-title",
    bare: true,
  },
  {
    name: "sign-in-card",
    go: async (page, journeys) => {
      await journeys.thread(page, "signedOut");
      await page.locator(".sign-in-way button").waitFor();
      await settled(page.getByRole("feed"));
    },
    wanted: "#sign-in-title",
  },
  {
    name: "failed",
    go: async (page, journeys) => {
      await journeys.thread(page, "failed");
      await page.getByRole("button", { name: "Edit as a new message" }).waitFor();
    },
    wanted: ".th-retry button",
  },
  {
    name: "paused",
    go: async (page, journeys) => {
      await journeys.thread(page, "paused");
      await page.getByText("Queue paused").waitFor();
    },
    wanted: ".pane textarea",
  },
  {
    name: "away",
    go: async (page, journeys) => {
      await journeys.comeBack(page);
      await page.locator(".away summary").click();
      await page.locator(".away-entry", { hasText: "A command" }).waitFor();
    },
    wanted: ".away summary",
  },
  {
    name: "folder-dialog",
    go: async (page) => {
      await page.locator("#folder").fill("~/");
      await page.getByRole("button", { name: "Choose…" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "sessions" }).waitFor();
    },
    wanted: "dialog h2",
  },
  {
    name: "opened-diff",
    go: async (page, journeys) => {
      await openWork(page, journeys, "work");
      await openFold(page, ".th-tool[data-kind=edit]");
      await page.locator(".th-diff").first().waitFor();
      // The colours are loaded after the text.
      await page.locator(".th-diff [class*=hljs-]").first().waitFor();
      await settled(page.getByRole("feed"));
    },
    wanted: ".pane textarea",
  },
  {
    name: "opened-command",
    go: async (page, journeys) => {
      await openWork(page, journeys, "work");
      await openFold(page, ".th-tool[data-kind=execute]");
      await page.locator(".th-terminal-line").first().waitFor();
      await settled(page.getByRole("feed"));
    },
    wanted: ".pane textarea",
  },
  {
    name: "output-viewer",
    go: async (page, journeys) => {
      await openWork(page, journeys, "work");
      await openFold(page, ".th-tool[data-kind=execute]");
      await page.getByRole("button", { name: "Open all" }).click();
      await page.getByRole("dialog").locator(".th-terminal-line").first().waitFor();
    },
    wanted: "dialog h2",
  },
  {
    name: "scripts",
    go: async (page, journeys) => {
      await journeys.thread(page, "scripts");
      await page.locator(".th-agent", { hasText: "第二項" }).first().waitFor();
    },
    wanted: ".pane textarea",
  },
  { name: "sign-in", go: (page) => page.locator("#token").waitFor(), wanted: "#token", signedOut: true },
  {
    name: "drawer",
    go: async (page, journeys) => {
      await journeys.view(page, "agents");
      await page.locator(".drawer-button").click();
      await row(page, "Running").waitFor();
    },
    wanted: "#search",
    narrow: true,
  },
];
