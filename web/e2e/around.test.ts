/** Everything besides conversations: agents, policy, notifications, keys, themes, and what the page must never do. */

import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";

import type { Client } from "@acpd/client";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { openThread, row, sayToEnd, startThread, until } from "./support/acts.ts";
import { accessible, DESKTOP, PHONE, shoot, Stage } from "./support/browser.ts";

/** The content security policy under which the UI must work. */
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; " +
  "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; manifest-src 'self'";

let stage: Stage;
let other: Client;
let page: Page;

beforeAll(async () => {
  stage = await Stage.set({
    config: [
      "[agents.absent]",
      'command = "/nowhere/agent"',
      "[agents.mute]",
      'command = "/bin/sh"',
      `args = ["-c", "echo hello there; echo 'no licence' >&2; exit 3"]`,
      "[agents.fake.policy]",
      'deny = ["Delete"]',
      "[policy]",
      'ask = ["WebFetch"]',
      'default = "ask"',
    ],
  });
  other = await stage.daemon.client("other-program");
  page = await stage.page();
});
afterAll(() => stage?.end());

test("agents: what is installed, and why the others are not", async () => {
  await page.getByRole("link", { name: "Agents" }).click();
  await page.locator(".agent", { hasText: "fake" }).first().waitFor();
  const absent = page.locator(".agent", { hasText: "absent" });
  await expect.poll(() => absent.locator(".agent-reason").innerText()).not.toBe("");
  await expect.poll(() => absent.getByRole("button").count()).toBe(0);
  await shoot(page, "agents-desktop");
  await accessible(page);
  await page.getByRole("button", { name: "New thread with fake" }).click();
  await expect.poll(() => page.locator("#agent").inputValue()).toBe("fake");
});

test("agents: a check says what one is, or why it does not work; who looks on checks none", async () => {
  await page.goto(`${stage.url}/agents`);
  await page.getByRole("button", { name: "Check fake" }).click();
  const works = page.locator(".agent", { hasText: "Started in" });
  await works.waitFor();
  await expect.poll(() => works.innerText()).toMatch(/ACP version 1[^]*load earlier sessions[^]*Sandbox\s+(workspace: [^]*sandbox\.write|off: )/);
  await page.getByRole("button", { name: "Check mute" }).click();
  const mute = page.locator(".agent", { hasText: "Couldn’t start" });
  await mute.waitFor();
  await expect.poll(() => mute.innerText()).toMatch(/code 3[^]*hello there/);
  await expect.poll(() => mute.getByText("no licence").isVisible()).toBe(false);
  await mute.getByText("End of standard error").click();
  await mute.getByText("no licence").waitFor();
  await shoot(page, "agents-checked-desktop");
  await accessible(page);
  await page.setViewportSize({ width: 320, height: 700 });
  await shoot(page, "agents-checked-phone");
  await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
  await page.setViewportSize(DESKTOP);

  const token = (await stage.daemon.run("token", "create", "--name", "eve", "--role", "observer")).trim();
  const looker = await stage.page({ token });
  await looker.goto(`${stage.url}/agents`);
  await looker.getByRole("button", { name: "Check fake" }).waitFor();
  await expect.poll(() => looker.getByRole("button", { name: "Check fake" }).isDisabled()).toBe(true);
  await looker.getByText("requires the operator role").waitFor();
});

test("policy: what holds in a thread and everywhere, in the order in which it counts", async () => {
  const id = await startThread(stage, other, undefined, { policy: { base: "readonly", allow: ["Bash(git *)"] } });
  await page.goto(`${stage.url}/threads/${id}/policy`);
  const layers = page.locator(".policy-layer");
  await expect.poll(() => layers.count()).toBe(3);
  const [own, agents, daemons] = await layers.allInnerTexts();
  expect(own).toMatch(/Thread policy[^]*readonly[^]*Bash\(git \*\)[^]*without a matching rule are denied/);
  expect(agents).toMatch(/Agent policy\s*fake[^]*Denied[^]*Delete/);
  expect(daemons).toMatch(/Global policy[^]*Asked[^]*WebFetch[^]*is not used/);
  await page.selectOption("#preset", "");
  await page.getByText("This thread has no policy of its own.").waitFor();
  await layers.nth(1).getByText("Actions without a matching rule ask for approval.").waitFor();
  await page.goto(`${stage.url}/policy`);
  const everywhere = page.getByRole("region", { name: "Global policy" }).locator(".policy-layer");
  await everywhere.filter({ hasText: "WebFetch" }).waitFor();
  await page.getByText("Change the global policy").click();
  await page.selectOption("#default-preset", "readonly");
  await page.getByText('policy = "readonly"').waitFor();
  await expect.poll(() => everywhere.count()).toBe(1);
  // One of the three agents has its own policy.
  const fakes = page.getByRole("region", { name: "Effective for fake" }).locator(".policy-layer");
  await fakes.filter({ hasText: "WebFetch" }).waitFor();
  await expect.poll(() => fakes.first().innerText()).toMatch(/Agent policy\s*fake[^]*Denied[^]*Delete/);
  await expect.poll(() => layers.count()).toBe(3);
  await shoot(page, "policies-desktop");
  await accessible(page);
});

test("policy: what it would say, what is remembered, who decided what", async () => {
  const id = await startThread(stage, other, "permission kind=execute command='npm test'; write path=x.txt text=hi", {
    policy: { allow: ["Edit(**)"], deny: ["Bash(rm *)"] },
  });
  await until(other, id, "waiting");
  const { thread } = await other.call("thread/read", { threadId: id });
  await other.call("item/approve", { requestId: thread.pendingRequestIds[0]!, optionId: "allow_always" });
  await until(other, id, "idle");
  await page.goto(`${stage.url}/threads/${id}/policy`);
  await page.locator(".policy-layer", { hasText: "Bash(rm *)" }).waitFor();
  await page.fill("#explain-subject", "git status && rm -rf x");
  await page.getByRole("button", { name: "Ask" }).click();
  await page.locator(".explained-head", { hasText: "Denied" }).waitFor();
  await page.locator(".explained", { hasText: "Bash(rm *)" }).waitFor();
  const asked = page.locator(".audit", { hasText: "npm test" }).filter({ hasText: "Allowed" });
  await expect.poll(() => asked.innerText()).toMatch(/Allowed[^]*owner \(other-program\)/);
  await expect.poll(() => page.locator(".audit", { hasText: "x.txt" }).innerText()).toMatch(/Edit\(\*\*\)/);
  await page.locator(".remembered").first().waitFor();
  await shoot(page, "policy-desktop");
  await accessible(page);
  await page.locator(".remembered").getByRole("button").click();
  await expect.poll(() => page.locator(".remembered").count()).toBe(0);
  await page.selectOption("#preset", "readonly");
  await expect
    .poll(async () => JSON.stringify((await other.call("thread/read", { threadId: id })).thread.policy))
    .toContain("readonly");
});

test("a waiting thread and a finished turn notify, each if the user has enabled it by a click", async () => {
  const asked = await stage.page();
  await asked.addInitScript(() => {
    const notes: string[] = [];
    let allowed = "default";
    class Note {
      static get permission() {
        return allowed;
      }
      static async requestPermission() {
        notes.push("asked");
        return (allowed = "granted");
      }
      constructor(title: string) {
        notes.push(title);
      }
      close() {}
    }
    Object.assign(window, { Notification: Note, notes });
  });
  await asked.reload();
  await asked.locator(".side-list").waitFor();
  const notes = () => asked.evaluate(() => (window as unknown as { notes: string[] }).notes);
  await startThread(stage, other, "permission kind=execute command=ls", { name: "Quiet one" });
  await asked.locator(".live-waiting").first().waitFor();
  await expect.poll(notes).toEqual([]);
  await asked.getByRole("button", { name: "Settings" }).click();
  await asked.getByLabel("Notify me when a thread is waiting").check();
  await accessible(asked);
  await asked.keyboard.press("Escape");
  await startThread(stage, other, "permission kind=execute command=ls", { name: "Loud one" });
  await expect.poll(notes).toEqual(["asked", "Loud one is waiting for approval"]);
  // Finished turns are a setting of their own.
  const id = await startThread(stage, other, "wait ms=300", { name: "Short one" });
  await until(other, id, "idle");
  await asked.locator('.row:has(.live-idle)', { hasText: "Short one" }).waitFor();
  await expect.poll(notes).toHaveLength(2);
  await asked.getByRole("button", { name: "Settings" }).click();
  await asked.getByLabel("Notify me when a turn is done").check();
  await asked.keyboard.press("Escape");
  await other.call("turn/start", { threadId: id, text: "wait ms=1500" });
  await expect.poll(notes).toEqual(["asked", "Loud one is waiting for approval", "Short one is done"]);
  await other.call("turn/start", { threadId: id, text: "wait ms=1500; error message=broken" });
  await expect.poll(async () => (await notes()).at(-1)).toBe("Short one has failed");
});

test("over plain http from another machine it works as well: prompts are sent, words are copied, notifications are explained", async () => {
  const plain = await stage.page();
  // Browsers omit it in insecure contexts; pages from this host are always secure.
  await plain.addInitScript(() => {
    Object.defineProperty(window, "isSecureContext", { value: false });
    Object.defineProperty(Crypto.prototype, "randomUUID", { value: undefined });
    Object.defineProperty(Navigator.prototype, "clipboard", { value: undefined });
  });
  const id = await startThread(stage, other);
  await openThread(stage, plain, id);
  await sayToEnd(plain, "say `copied by hand`");
  const answer = plain.locator(".th-agent", { hasText: "copied by hand" }).first();
  await answer.hover();
  await answer.getByRole("button", { name: "Copy message" }).click();
  await answer.getByRole("button", { name: "Copied" }).waitFor();
  await plain.getByRole("button", { name: "Settings" }).click();
  await plain.getByText("Notifications require https or 127.0.0.1").waitFor();
});

test("everything is reached by keyboard alone", async () => {
  await page.goto(`${stage.url}/agents`);
  await row(page, "Loud one").waitFor();
  const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() || document.activeElement?.id || document.activeElement?.getAttribute("aria-label"));
  await page.keyboard.press("Tab");
  await expect.poll(focused).toBe("Skip to the content");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("main");
  await page.evaluate(() => (document.activeElement as HTMLElement).blur());
  await page.keyboard.press("?");
  const shortcuts = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await shortcuts.waitFor();
  await shoot(page, "shortcuts-desktop");
  // In a window of 900 px, all of it is in sight.
  const size = page.viewportSize()!;
  await page.setViewportSize({ width: 1280, height: 900 });
  await expect.poll(() => shortcuts.evaluate((dialog) => dialog.scrollHeight - dialog.clientHeight)).toBeLessThanOrEqual(0);
  await page.setViewportSize(size);
  await accessible(page);
  await page.keyboard.press("Escape");
  await shortcuts.waitFor({ state: "detached" });
  await page.keyboard.press("/");
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("search");
  await page.keyboard.press("ArrowDown");
  const first = await page.evaluate(() => document.activeElement?.closest<HTMLElement>("[data-thread]")?.dataset.thread);
  await page.keyboard.press("ArrowDown");
  const second = await page.evaluate(() => document.activeElement?.closest<HTMLElement>("[data-thread]")?.dataset.thread);
  expect(first).toBeTruthy();
  expect(second).not.toBe(first);
  const ring = await page.evaluate(() => getComputedStyle(document.activeElement!).outlineStyle);
  expect(ring).toBe("solid");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByRole("menu").waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Escape");
  await page.getByRole("menu").waitFor({ state: "detached" });
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/threads/${second}`);
  await page.locator(".pane textarea").waitFor();
  await page.evaluate(() => (document.activeElement as HTMLElement).blur());
  await page.keyboard.press("i");
  await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("TEXTAREA");
  await page.evaluate(() => (document.activeElement as HTMLElement).blur());
  await page.keyboard.press("n");
  await page.locator(".home-form").waitFor();
});

test("light, dark, and as the system has it", async () => {
  const ground = (of: Page) => of.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await stage.page({ dark: true });
  await dark.locator(".home-form").waitFor();
  await expect.poll(() => ground(dark)).toBe("rgb(25, 26, 29)");
  await shoot(dark, "new-thread-dark");
  await accessible(dark);
  await dark.getByRole("button", { name: "Settings" }).click();
  await dark.getByRole("radio", { name: "Light" }).check();
  await expect.poll(() => ground(dark)).toBe("rgb(255, 255, 255)");
  await dark.reload();
  await dark.locator(".home-form").waitFor();
  await expect.poll(() => ground(dark)).toBe("rgb(255, 255, 255)");
  const id = await startThread(stage, other, "hello");
  await until(other, id, "waiting");
  const night = await stage.page({ dark: true });
  await openThread(stage, night, id);
  await night.locator(".pane-foot").getByRole("button", { name: "Allow once", exact: true }).waitFor();
  await shoot(night, "conversation-dark");
  await accessible(night);
  const phone = await stage.page({ size: PHONE, dark: true });
  for (const view of ["agents", "policy", "usage", "archive"]) {
    await phone.goto(`${stage.url}/${view}`);
    await phone.locator(".page").waitFor();
    await phone.waitForLoadState("networkidle").catch(() => {});
    await shoot(phone, `${view}-phone-dark`);
    await accessible(phone);
    await expect.poll(() => phone.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  }
});

test("tokens and costs are shown by day and by thread", async () => {
  const id = await startThread(stage, other, "usage cost=0.25", { name: "What it cost" });
  await until(other, id, "idle");
  const shown = await stage.page();
  await shown.goto(`${stage.url}/usage`);
  const total = shown.locator(".usage tfoot td").first();
  await expect.poll(() => total.innerText()).toBe("$0.25");
  await shown.locator(".usage-picks select").first().selectOption("thread");
  const row = shown.locator(".usage tbody tr", { hasText: "What it cost" });
  await expect.poll(() => row.locator("td").first().innerText()).toBe("$0.25");
  await accessible(shown);
  await row.getByRole("link").click();
  await expect.poll(() => shown.locator(".th-usage").innerText()).toContain("$0.25");
  await shown.context().close();
});

test("the page is served under a strict policy", async () => {
  const answer = await page.request.get(stage.url);
  const parts = (policy: string) => policy.split(";").map((part) => part.trim()).sort();
  expect(parts(answer.headers()["content-security-policy"]!)).toEqual(parts(CSP));
  const html = await answer.text();
  expect(html).not.toMatch(/<script(?![^>]*\ssrc=)[^>]*>|<style|\sstyle=|\son\w+=/i);
  expect(html).not.toMatch(/https?:\/\//);
});

/** Follows which scripts and styles a page requests. */
function followLoads(page: Page): () => Promise<{ files: string[]; bytes: number }> {
  const files = new Set<string>();
  page.on("response", (response) => {
    if (["script", "stylesheet"].includes(response.request().resourceType())) {
      files.add(new URL(response.url()).pathname);
    }
  });
  return async () => {
    const contents = [...files].map((file) => readFile(new URL(`../dist${file}`, import.meta.url)));
    const bytes = (await Promise.all(contents)).reduce((sum, content) => sum + gzipSync(content).length, 0);
    return { files: [...files], bytes };
  };
}

interface Held {
  held: (() => void)[];
}

/** Holds what a page begins by a timer of two seconds or more, so that a busy host is no reason for it to begin. */
function holdTimers(): void {
  const start = window.setTimeout.bind(window);
  const held: (() => void)[] = [];
  Object.assign(window, { held });
  window.setTimeout = ((run: () => void, millis = 0) => (millis >= 2_000 ? -held.push(run) : start(run, millis))) as typeof setTimeout;
}

test("the typefaces come from the daemon, under names that change with their content", async () => {
  const view = await stage.page();
  await view.goto("about:blank");
  const font = view.waitForResponse((response) => response.url().endsWith(".woff2"));
  await view.goto(stage.url);
  const { pathname } = new URL((await font).url());
  expect(pathname).toMatch(/^\/assets\/[\w-]+-[\w-]{8}\.woff2$/);
  expect((await font).headers()["content-type"]).toBe("font/woff2");
  for (const name of ["Inter", "JetBrains Mono"]) {
    await expect.poll(() => view.evaluate(async (name) => (await document.fonts.load(`14px "${name}"`)).length, name)).toBe(1);
  }
  await view.context().close();
});

test("the head of a view has a line while something is scrolled below it", async () => {
  const view = await stage.page({ size: { width: 1000, height: 320 } });
  await view.locator("#prompt").waitFor();
  const line = () => view.locator(".view-head").evaluate((head) => getComputedStyle(head).borderBottomColor);
  await expect.poll(line).toMatch(/^rgba\(.*, 0\)$/);
  await view.locator(".shell-main .page").evaluate((page) => page.scrollTo(0, 100));
  await expect.poll(line).not.toMatch(/^rgba\(.*, 0\)$/);
  await view.context().close();
});

test("the first load has at most 150 kB of scripts and styles, also with a thread", async () => {
  const other = await stage.daemon.client("loads");
  const thread = await startThread(stage, other, "say hello");
  await until(other, thread, "idle");
  const begin = async (path: string, ready: string) => {
    const view = await stage.page({ prepare: async (context) => void (await context.addInitScript(holdTimers)) });
    await view.goto("about:blank");
    const loaded = followLoads(view);
    await view.goto(`${stage.url}${path}`);
    await view.locator(ready).first().waitFor();
    await view.locator(`[data-thread="${thread}"]`).first().waitFor({ state: "attached" });
    await view.waitForLoadState("networkidle");
    const { files, bytes } = await loaded();
    console.log(`first load of ${path}: ${(bytes / 1000).toFixed(1)} kB of scripts and styles, gzipped`);
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes, files.join("\n")).toBeLessThanOrEqual(150_000);
    return { view, files, loaded };
  };
  const home = await begin("/", "#prompt");
  expect(home.files.filter((file) => /ThreadPane|Palette/.test(file))).toEqual([]);
  // Then what may be wanted next is loaded.
  await home.view.evaluate(() => (window as unknown as Held).held.forEach((run) => run()));
  for (const name of ["ThreadPane", "Palette"]) {
    await expect.poll(async () => (await home.loaded()).files.some((file) => file.includes(name))).toBe(true);
  }
  const opened = await begin(`/threads/${thread}`, ".th-agent");
  expect(opened.files.filter((file) => /Approvals|Queue/.test(file))).toEqual([]);
  await opened.view.evaluate(() => (window as unknown as Held).held.forEach((run) => run()));
  for (const name of ["Approvals", "Queue"]) {
    await expect.poll(async () => (await opened.loaded()).files.some((file) => file.includes(name))).toBe(true);
  }
});

test("an owner sets the default agent for all devices, and the size of text for this one", async () => {
  await page.goto(`${stage.url}/agents`);
  await page.getByRole("button", { name: "Make default: fake" }).click();
  const fake = page.locator(".agent", { has: page.getByRole("button", { name: "Check fake" }) });
  await fake.getByText("Default", { exact: true }).waitFor();
  await expect.poll(async () => (await other.call("agent/list")).data.find(({ isDefault }) => isDefault)?.id).toBe("fake");
  await expect.poll(() => page.getByRole("button", { name: "Make default: fake" }).count()).toBe(0);
  const token = (await stage.daemon.run("token", "create", "--name", "olga", "--role", "operator")).trim();
  const operator = await stage.page({ token });
  await operator.goto(`${stage.url}/agents`);
  await operator.getByRole("button", { name: "Check mute" }).waitFor();
  await expect.poll(() => operator.getByRole("button", { name: /Make default/ }).count()).toBe(0);

  const size = () => page.evaluate(() => getComputedStyle(document.documentElement).fontSize);
  await expect.poll(size).toBe("16px");
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByRole("radio", { name: "Larger" }).check();
  await expect.poll(size).toBe("20px");
  await accessible(page);
  await page.reload();
  await expect.poll(size).toBe("20px");
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByRole("radio", { name: "Medium" }).check();
  await expect.poll(size).toBe("16px");
});
