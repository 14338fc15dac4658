/** The main journeys, each at the point that matters: for tests that look at all of them. */

import type { Client } from "@acpd/client";
import type { Page } from "playwright-core";

import { openThread, row, settled, startThread, until } from "./acts.ts";
import { Stage } from "./browser.ts";

export interface Journey {
  readonly name: string;
  /** Leads a page there. */
  readonly go: (page: Page, journeys: Journeys) => Promise<void>;
  /** The part of the page that the user has come for; it must be in sight. */
  readonly wanted: string;
  /** Only on phones. */
  readonly narrow?: boolean;
  readonly signedOut?: boolean;
}

/** A daemon with a thread for each journey. */
export class Journeys {
  private constructor(
    readonly stage: Stage,
    readonly threads: Readonly<Record<"rest" | "running" | "command" | "edit" | "form", string>>,
  ) {}

  static async set(): Promise<Journeys> {
    const stage = await Stage.set({
      // Which agents are installed must not depend on the machine.
      path: "/nowhere",
      config: ["[agents.absent]", 'command = "/nowhere/agent"', "[policy]", 'ask = ["WebFetch"]', 'deny = ["Bash(rm *)"]'],
    });
    try {
      const other = await stage.daemon.client("other-program");
      return new Journeys(stage, await threads(stage, other));
    } catch (error) {
      await stage.end();
      throw error;
    }
  }

  /** Leads a page to a journey, and waits until it has everything. */
  async go({ go, signedOut }: Journey, page: Page): Promise<void> {
    await page.goto(this.stage.url);
    await go(page, this);
    if (!signedOut) {
      await page.locator(`[data-thread="${this.threads.rest}"], .is-hit`).first().waitFor({ state: "attached" });
      // The answers are there once the question has been read, and take clicks once they have been in sight for a while.
      const answers = page.locator(`[data-thread="${this.threads.command}"] button`, { hasText: "Allow once" });
      await answers.or(page.locator(".is-hit")).first().waitFor({ state: "attached" });
      if (await answers.first().isVisible()) {
        await page.locator(`[data-thread="${this.threads.command}"] button:not([aria-disabled])`, { hasText: "Allow once" }).waitFor();
      }
      await page.getByText("Offline. Your draft is saved.").waitFor({ state: "detached" });
    }
    // What is below the pointer looks otherwise.
    await page.mouse.move(0, 0);
  }

  /** Opens a page of a thread at its end. */
  async thread(page: Page, name: keyof Journeys["threads"]): Promise<void> {
    await openThread(this.stage, page, this.threads[name]);
    await settled(page.getByRole("feed"));
  }

  async view(page: Page, path: string): Promise<void> {
    await page.goto(`${this.stage.url}/${path}`);
    await page.locator(".page").waitFor();
  }
}

const WORK = "say I will look first.; tool kind=read path=src/a.rs; tool kind=search; tool kind=edit; tool kind=execute; ";

async function threads(stage: Stage, other: Client): Promise<Journeys["threads"]> {
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
  const form = await start("A form", "elicit", "waiting");
  const edit = await start("An edit", "permission kind=edit", "waiting");
  const command = await start("A command", "permission kind=execute command='npm run test -- --coverage'", "waiting");
  const running = await start("Running", "plan; tool kind=read; slow ms=600000", "running");
  for (const text of ["say the second", "say the third"]) {
    await other.call("turn/start", { threadId: running, text });
  }
  return { rest, form, edit, command, running };
}

const question = (name: "command" | "edit" | "form") => async (page: Page, journeys: Journeys) => {
  await openThread(journeys.stage, page, journeys.threads[name]);
  await page.locator("[data-question]").waitFor();
  // In a low or narrow window, the question is all that is shown.
  if (await page.getByRole("feed").isVisible()) {
    await settled(page.getByRole("feed"));
  }
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
    wanted: "dialog input",
  },
  {
    name: "archive",
    go: async (page, journeys) => {
      await journeys.view(page, "archive");
      await page.getByText("An archived thread").waitFor();
    },
    wanted: ".view-title h1",
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
