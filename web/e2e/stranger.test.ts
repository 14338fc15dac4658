/** The way of a new user: a home without any file, the commands of the README, a first turn with an agent, a phone, the end. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
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
const README = fileURLToPath(new URL("../../README.md", import.meta.url));

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

/** Runs acpd as the user does, without any setting of the caller. Returns the output, and fails if the exit code is not 0. */
async function acpd(...args: string[]): Promise<string> {
  const child = spawn(ACPD, args, {
    cwd: join(home, "project"),
    stdio: ["ignore", "pipe", "pipe"],
    env: { HOME: home, PATH: `${join(home, "bin")}:/usr/bin:/bin`, LANG: "C.UTF-8", ACPD_LISTEN: "127.0.0.1:0" },
  });
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (out += chunk));
  child.stderr.on("data", (chunk: Buffer) => (err += chunk));
  const [code] = (await once(child, "close")) as [number];
  assert.equal(code, 0, `acpd ${args.join(" ")}: ${out}${err}`);
  return out;
}

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
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"],
  });
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
