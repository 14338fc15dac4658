/** From a daemon without agents to a first answer, in the browser alone; the folder of a new thread; when agents start. */

import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Page } from "playwright-core";
import { afterEach, expect, test } from "vitest";

import { connected, openThread, startThread, until } from "./support/acts.ts";
import { accessible, PHONE, shoot, Stage } from "./support/browser.ts";
import { FAKE_AGENT } from "./support/daemon.ts";
import { type Registry, serveRegistry } from "./support/registry.ts";

let stage: Stage | undefined;
let registry: Registry | undefined;

afterEach(async () => {
  registry?.end();
  await stage?.end();
  stage = undefined;
});

/** Starts a daemon whose registry has one agent, which is not installed. */
async function bare(): Promise<Stage> {
  registry = await serveRegistry();
  stage = await Stage.set({ agentName: null, first: registry.config, config: ["[sandbox]", `read = [${JSON.stringify(FAKE_AGENT)}]`] });
  await stage.daemon.run("agents", "update");
  return stage;
}

/** Presses Tab until the element that matches has the focus. */
async function tabTo(page: Page, selector: string): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted) === true, selector)) {
      return;
    }
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not lead to ${selector}`);
}

const active = (page: Page) => page.evaluate(() => document.activeElement?.id || document.activeElement?.textContent);

test("by keyboard alone: install, sign in, first answer", async () => {
  const { daemon } = await bare();
  const page = await stage!.page();
  await page.getByRole("heading", { name: "Choose an agent" }).waitFor();
  await page.getByRole("button", { name: "Try the demo" }).or(page.getByText("acpd serve --demo")).waitFor();
  await shoot(page, "setup-desktop");
  await accessible(page);
  await tabTo(page, '[aria-label="Install Looped"]');
  await page.keyboard.press("Enter");
  // The progress is there, on other devices as well.
  await page.getByText(/Downloading 100 kB of 400 kB/).waitFor();
  const phone = await stage!.page({ size: PHONE });
  await phone.getByRole("progressbar", { name: "Installing Looped" }).waitFor();
  await shoot(phone, "setup-progress-phone");
  await accessible(phone);
  registry!.release();
  await phone.locator("#prompt").waitFor();
  await page.locator("#prompt").waitFor();
  await expect.poll(() => active(page)).toBe("prompt");
  await tabTo(page, '[aria-label="Check Looped"]');
  await page.keyboard.press("Enter");
  await page.locator(".setup-installed", { hasText: "Started in" }).waitFor();
  await shoot(page, "setup-installed-desktop");
  await accessible(page);
  await page.locator("#prompt").focus();
  await page.keyboard.type("say It works");
  await tabTo(page, "#folder");
  await page.keyboard.type(daemon.work);
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/threads\//);
  await page.getByRole("heading", { name: "Sign in to Looped" }).waitFor();
  await page.getByRole("button", { name: "Sign in to Looped with API key" }).waitFor();
  // The card alone says it, and has the only button.
  await page.locator(".th-turn-stop", { hasText: "Waiting for sign-in" }).waitFor();
  await expect.poll(() => page.locator(".pane").innerText()).not.toContain("to continue");
  await expect.poll(() => page.getByRole("button", { name: "Try again" }).count()).toBe(1);
  await shoot(page, "setup-sign-in-desktop");
  await accessible(page);
  await tabTo(page, '[aria-label="Sign in to Looped with API key"]');
  await page.keyboard.press("Enter");
  await expect.poll(() => active(page)).toBe("Try again");
  await tabTo(page, '[aria-label="Check Looped"]');
  await page.keyboard.press("Enter");
  await page.locator(".sign-in-card .examined-works", { hasText: "Started in" }).waitFor();
  await page.getByRole("button", { name: "Try again" }).press("Enter");
  await page.locator(".virtual-line", { hasText: "It works" }).last().waitFor();
  await page.locator(".th-turn-end", { hasText: "Done" }).waitFor();
  await expect.poll(() => page.locator(".sign-in-card").count()).toBe(0);
  // What was asked is said once, in a sentence: with the turn that it ended.
  const words = () => page.locator(".pane").innerText();
  await expect.poll(async () => (await words()).match(/Sign in to Looped to continue/g)?.length).toBe(1);
  await expect.poll(words).not.toContain("ways to sign in");
});

for (const [name, size] of Object.entries({ desktop: undefined, phone: PHONE })) {
  test(`the demo is one press from the first visit: ${name}`, async () => {
    stage = await Stage.set({ agentName: null, path: "/nowhere" });
    const page = await stage.page(size && { size });
    await page.getByRole("heading", { name: "Set up an agent" }).waitFor();
    await accessible(page);
    await page.getByRole("button", { name: "Try the demo" }).click();
    await page.waitForURL(/\/threads\//);
    // On a phone, its question replaces what it said.
    await page.getByRole("button", { name: "Allow once" }).waitFor();
    // It has made its file, in a folder that is its working directory.
    expect(await readdir(join(stage.daemon.work, "../acpd-demo"))).toEqual(["notes.md"]);
    // It is no agent that is set up.
    await page.goto(stage.url);
    await page.getByRole("button", { name: "Try the demo" }).waitFor();
  });
}

test("on the phone, by touch", async () => {
  const { daemon } = await bare();
  registry!.release();
  const page = await stage!.page({ size: PHONE });
  await page.getByRole("button", { name: "Install Looped" }).tap();
  await page.locator("#prompt").fill("say It works");
  await page.locator("#folder").fill(daemon.work);
  await page.locator(".view-head").tap();
  await page.getByRole("button", { name: "Start" }).tap();
  await page.getByRole("button", { name: "Sign in to Looped with API key" }).waitFor();
  await shoot(page, "setup-sign-in-phone");
  await accessible(page);
  // Agents know as well.
  await page.goto(`${stage!.url}/agents`);
  await page.goBack();
  await page.getByRole("button", { name: "Sign in to Looped with API key" }).tap();
  await page.getByRole("button", { name: "Try again" }).first().tap();
  await page.locator(".th-turn-end", { hasText: "Done" }).waitFor();
});

test("a check says that an agent starts but is not signed in", async () => {
  stage = await Stage.set({ agentArgs: ["--pace", "0", "--sign-in"] });
  const page = await stage.page();
  await connected(page);
  await page.locator("#prompt").fill("say hello");
  await page.locator("#folder").fill(stage.daemon.work);
  await page.locator("#prompt").press("Enter");
  await page.getByRole("heading", { name: "Sign in to fake" }).waitFor();
  // The attempt left no words on the form, and the thread is in the list.
  await page.getByRole("link", { name: "Agents" }).click();
  await page.getByRole("button", { name: "Check fake" }).click();
  await page.getByText("Starts. Not signed in.").waitFor();
  await shoot(page, "agents-signed-out");
  await accessible(page);
  await page.getByRole("link", { name: "New thread", exact: true }).click();
  await expect.poll(() => page.locator("#prompt").inputValue()).toBe("");
  await page.locator(".side-list .row").first().click();
  await page.getByRole("heading", { name: "Sign in to fake" }).waitFor();
});

test("a folder is found by typing: completion, home directory, repositories, and one that is created", async () => {
  stage = await Stage.set();
  const { root } = stage.daemon;
  await mkdir(join(root, "projects/alpha/.git"), { recursive: true });
  await mkdir(join(root, "projects/alps"));
  const page = await stage.page();
  await connected(page);
  const field = page.locator("#folder");
  const option = (name: string) => page.getByRole("option", { name });
  await field.fill("~/proj");
  await option("projects").waitFor();
  await field.press("ArrowDown");
  await field.press("Enter");
  await expect.poll(() => field.inputValue()).toBe(`${root}/projects/`);
  await option("alpha Git").waitFor();
  await page.keyboard.type("al");
  await expect.poll(() => page.locator("[role=option]").allInnerTexts()).toEqual(["alpha\nGit", "alps"]);
  await shoot(page, "folder-suggestions");
  await accessible(page);
  await page.keyboard.press("Escape");
  await expect.poll(() => page.getByRole("listbox").count()).toBe(0);
  // One that does not exist is created, and used.
  await field.fill("~/projects/beta");
  await page.locator("#prompt").fill("cwd");
  await page.locator("#prompt").press("Enter");
  await page.getByText(/^No such folder on \S+\.$/).waitFor();
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("folder");
  await shoot(page, "folder-missing");
  await accessible(page);
  await page.getByRole("button", { name: "Create it" }).click();
  await expect.poll(() => field.inputValue()).toBe(`${root}/projects/beta`);
  await page.locator("#prompt").press("Enter");
  await page.locator(".virtual-line", { hasText: `${root}/projects/beta` }).first().waitFor();
  // It is a recent folder now.
  await page.locator(".side-new").click();
  // The form takes the focus when it is drawn.
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("prompt");
  await field.focus();
  await field.press("ArrowDown");
  await option(`${root}/projects/beta Recent`).waitFor();
});

for (const [name, size] of Object.entries({ desktop: undefined, phone: PHONE })) {
  test(`a folder is chosen by going through folders: ${name}`, async () => {
    stage = await Stage.set();
    const { root } = stage.daemon;
    await mkdir(join(root, "projects/alpha/.git"), { recursive: true });
    const page = await stage.page(size && { size });
    await connected(page);
    await page.locator("#folder").fill("");
    await page.getByRole("button", { name: "Choose…" }).click();
    const dialog = page.getByRole("dialog", { name: /^Choose a folder on / });
    await dialog.getByRole("button", { name: "projects" }).click();
    await dialog.getByRole("button", { name: "alpha Git" }).waitFor();
    await shoot(page, `folder-dialog-${name}`);
    await accessible(page);
    await dialog.getByRole("button", { name: "New folder" }).click();
    await page.keyboard.type("gamma");
    await page.keyboard.press("Enter");
    await dialog.getByText(`${root}/projects/gamma`).waitFor();
    await dialog.getByRole("button", { name: "Parent folder" }).click();
    await dialog.getByRole("button", { name: "gamma" }).click();
    await dialog.getByText("No folders in it.").waitFor();
    await dialog.getByRole("button", { name: "Use this folder" }).click();
    await expect.poll(() => page.locator("#folder").inputValue()).toBe(`${root}/projects/gamma`);
    await expect.poll(() => page.evaluate(() => location.pathname)).toBe("/");
  });
}

/** Starts a daemon whose agent is a script, and a thread whose agent does not run any more. Returns its id. */
async function resting(script: string): Promise<string> {
  stage = await Stage.set({ agentName: null, config: ["[agents.fake]", `command = "./agent.sh"`, "[sandbox]", 'mode = "off"'] });
  const { daemon } = stage;
  const agent = join(daemon.work, "agent.sh");
  await writeFile(agent, `#!/bin/sh\nexec '${FAKE_AGENT}' --pace 0\n`, { mode: 0o755 });
  const config = join(daemon.root, "acpd.toml");
  await writeFile(config, (await readFile(config, "utf8")).replace("./agent.sh", agent));
  await daemon.kill();
  await daemon.launch();
  const other = await daemon.client("before");
  const id = await startThread(stage, other, "say hello");
  await until(other, id, "idle");
  await daemon.kill();
  await writeFile(agent, script);
  await daemon.launch();
  return id;
}

test("the first key in an idle thread starts its agent", async () => {
  const id = await resting(`#!/bin/sh\nexec '${FAKE_AGENT}' --pace 0\n`);
  const page = await stage!.page();
  await openThread(stage!, page, id);
  await page.locator(".th-agent", { hasText: "hello" }).waitFor();
  const reader = await stage!.daemon.client("reader");
  expect((await reader.call("agent/running", {})).data).toEqual([]);
  await page.locator(".pane textarea").press("s");
  await expect.poll(async () => (await reader.call("agent/running", {})).data.map(({ threads }) => threads)).toEqual([[id]]);
  await page.keyboard.type("ay ready");
  await page.keyboard.press("Enter");
  await page.locator(".th-agent", { hasText: "ready" }).waitFor();
  // Nothing came twice, and nothing was lost.
  await expect.poll(() => page.locator(".th-user").allInnerTexts()).toHaveLength(2);
  await expect.poll(() => page.locator(".th-turn-end").count()).toBe(2);
});

test("an agent that cannot start while the user writes is a line, and no failed turn", async () => {
  const id = await resting("#!/bin/sh\necho broken >&2\nexit 7\n");
  const page = await stage!.page();
  await openThread(stage!, page, id);
  await page.locator(".th-agent", { hasText: "hello" }).waitFor();
  await page.locator(".pane textarea").press("x");
  await page.locator(".th-notice", { hasText: "exited with code 7" }).first().waitFor();
  await expect.poll(() => page.locator(".th-turn-end").allInnerTexts()).toEqual([expect.stringContaining("Done")]);
  await expect.poll(() => page.locator(".pane textarea").inputValue()).toBe("x");
  // The header says nothing of a thread that does not need the user.
  await expect.poll(() => page.locator(".pane .view-head .pill").count()).toBe(0);
});
