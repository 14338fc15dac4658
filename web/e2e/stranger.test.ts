/**
 * The way of a new user: a home without any file, the commands of the README, a first turn with an agent, a phone, the end. Of one
 * without any agent, who runs acpd and presses Enter. And of one with a clone of the repository, who runs `make run`.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { chromium } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { PHONE } from "./support/browser.ts";
import { FAKE_AGENT } from "./support/daemon.ts";
import { beyond } from "./support/room.ts";

const ACPD = process.env.ACPD_BIN ?? fileURLToPath(new URL("../../target/debug/acpd", import.meta.url));
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const README = join(ROOT, "README.md");

let home: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "acpd-stranger-"));
  await mkdir(join(home, "bin"));
  await mkdir(join(home, "project"));
  // The user has installed an agent, whose program acpd finds on PATH.
  const agent = join(home, "bin/gemini");
  // The sandbox lets agents read the directories of PATH.
  await copyFile(FAKE_AGENT, join(home, "bin/scripted-agent"));
  await writeFile(agent, `#!/bin/sh\nexec '${home}/bin/scripted-agent' --pace 0\n`);
  await chmod(agent, 0o700);
});
afterAll(async () => {
  await acpd("stop");
  await rm(home, { recursive: true, force: true });
});

/** The environment of a user with this home, without any setting of the caller. */
const surroundings = (home: string) => ({
  HOME: home,
  PATH: `${join(home, "bin")}:/usr/bin:/bin`,
  LANG: "C.UTF-8",
  ACPD_LISTEN: "127.0.0.1:0",
});

/** Makes a home without any agent, in which a new user has a project. */
async function freshHome(): Promise<string> {
  const fresh = await mkdtemp(join(tmpdir(), "acpd-stranger-"));
  await mkdir(join(fresh, "bin"));
  await mkdir(join(fresh, "project"));
  // npx can start agents of the registry, which nobody has installed: it must not run.
  await writeFile(join(fresh, "bin/npx"), `#!/bin/sh\ntouch "$HOME/npx-ran"\nexit 1\n`, { mode: 0o755 });
  return fresh;
}

const patience = { timeout: 30_000 };

const acpd = (...args: string[]) => acpdOf(home, ...args);

/** Runs acpd as the user does. Returns the output, and fails if the exit code is not 0. */
async function acpdOf(home: string, ...args: string[]): Promise<string> {
  const child = spawn(ACPD, args, { cwd: join(home, "project"), stdio: ["ignore", "pipe", "pipe"], env: surroundings(home) });
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (out += chunk));
  child.stderr.on("data", (chunk: Buffer) => (err += chunk));
  const [code] = (await once(child, "close")) as [number];
  assert.equal(code, 0, `acpd ${args.join(" ")}: ${out}${err}`);
  return out;
}

const launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"],
  });

test("from an empty home to the first answer on a phone", async () => {
  const readme = await readFile(README, "utf8");
  for (const command of ["acpd agents list", "acpd doctor", "acpd run --agent gemini", "acpd open", "acpd stop"]) {
    expect(readme).toContain(command);
  }
  expect(await acpd("agents", "list")).toMatch(/^gemini +registry .*\bgemini --acp$/m);
  expect(await acpd("doctor")).toContain("gemini");
  expect(await acpd("agents", "doctor", "gemini")).toContain("works: ACP version 1");
  // A test has no terminal to be asked on.
  await acpd("run", "--agent", "gemini", "--permissions", "allow", "explain what this project does");
  expect(await acpd("threads")).toContain("explain what this project does");

  const link = (await acpd("open", "--print")).trim();
  const browser = await launch();
  try {
    const page = await browser.newPage({ viewport: PHONE, hasTouch: true });
    page.setDefaultTimeout(15_000);
    await page.goto(link);
    await page.getByRole("button", { name: "Threads" }).click();
    await page.locator(".row-name", { hasText: "explain what this project does" }).click();
    await page.waitForURL("**/threads/*");
    // The agent's last words; its work before them is one line.
    await page.locator(".th-agent").last().waitFor();
    await expect.poll(() => page.locator(".th-agent").last().innerText()).not.toBe("");
    await expect.poll(() => beyond(page)).toEqual([]);
    await page.goto(new URL("/docs/", link).href);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await expect.poll(() => beyond(page)).toEqual([]);
  } finally {
    await browser.close();
  }
  expect(await acpd("stop")).toContain("stopped the daemon");
  expect(await acpd("status").catch(String)).toContain("not running");
}, 180_000);

test("without any agent, acpd and Enter lead to the demo's first answer in the browser", async () => {
  const fresh = await freshHome();
  // The user's browser. It is a page with the link that acpd gives it.
  const page = `sed -n 's/.*href="\\([^"]*\\)".*/\\1/p' "\${1#file://}"`;
  await writeFile(join(fresh, "bin/browser"), `#!/bin/sh\n${page} > "$HOME/link.new" && mv "$HOME/link.new" "$HOME/link"\n`, { mode: 0o755 });
  const terminal = spawn("script", ["-q", "-e", "-c", `'${ACPD}'`, "/dev/null"], {
    cwd: join(fresh, "project"),
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...surroundings(fresh), TERM: "xterm-256color", BROWSER: join(fresh, "bin/browser") },
  });
  let shown = "";
  terminal.stdout.on("data", (chunk: Buffer) => (shown += chunk));
  const browser = await launch();
  try {
    await expect.poll(() => shown, patience).toContain("Which one?");
    terminal.stdin.write("\r");
    await expect.poll(() => shown, patience).toContain("What next?");
    expect(shown).toContain("1) Open the web UI");
    terminal.stdin.write("\r");
    await expect.poll(() => existsSync(join(fresh, "link")), patience).toBe(true);
    const tab = await browser.newPage();
    tab.setDefaultTimeout(15_000);
    await tab.goto((await readFile(join(fresh, "link"), "utf8")).trim());
    await tab.locator("#agent").waitFor();
    await expect.poll(() => tab.locator("#agent").inputValue()).toBe("demo");
    await tab.locator("#prompt").fill("hello");
    await tab.locator("#prompt").press("Enter");
    await tab.locator(".th-agent", { hasText: "This is the demo agent" }).waitFor();
    expect(existsSync(join(fresh, "npx-ran"))).toBe(false);
  } finally {
    await browser.close();
    terminal.kill();
    await acpdOf(fresh, "stop", "--now");
    await rm(fresh, { recursive: true, force: true });
  }
}, 180_000);

test("make run ends with an address, where one press leads to the demo's first answer", async () => {
  expect(await readFile(README, "utf8")).toContain("make run ");
  // Before that, it builds the program, which this test is given.
  expect(await readFile(join(ROOT, "Makefile"), "utf8")).toContain('\t@xtask/demo.sh "$(BUILT)/acpd" $(ARGS)\n');
  const fresh = await freshHome();
  // Before the link, which works for some seconds only.
  const browser = await launch();
  const served = spawn(join(ROOT, "xtask/demo.sh"), [ACPD], {
    cwd: join(fresh, "project"),
    stdio: ["ignore", "pipe", "inherit"],
    env: surroundings(fresh),
  });
  const ended = once(served, "close");
  let shown = "";
  served.stdout.on("data", (chunk: Buffer) => (shown += chunk));
  const link = () => /^(http:\S+#ticket=\S+)\n/m.exec(shown)?.[1];
  try {
    await expect.poll(link, patience).toBeDefined();
    const tab = await browser.newPage();
    tab.setDefaultTimeout(15_000);
    await tab.goto(link()!);
    await tab.getByRole("button", { name: "Try the demo" }).click();
    await tab.locator(".th-agent", { hasText: "This is the demo agent" }).first().waitFor();
    await tab.locator(".pane-foot").getByRole("button", { name: "Allow once", exact: true }).click();
    await tab.locator(".th-agent", { hasText: "you can delete" }).first().waitFor();
    expect(await readFile(join(fresh, "acpd-demo/notes.md"), "utf8")).toContain("Hello, world.");
    expect(existsSync(join(fresh, "npx-ran"))).toBe(false);
  } finally {
    await browser.close();
    served.kill();
    // It takes its daemon with it.
    await ended;
    await rm(fresh, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}, 180_000);
