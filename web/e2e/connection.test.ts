/** Signing in, and the page's behaviour when the connection breaks or ends. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import type { Client } from "@acpd/client";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { openThread, say, startThread, until } from "./support/acts.ts";
import { accessible, shoot, Stage } from "./support/browser.ts";

/** Makes the page reconnect immediately, unless it has already reconnected. */
async function tryNow(page: Page): Promise<void> {
  await page.locator(".banner button").evaluateAll((buttons) => buttons.forEach((button) => (button as HTMLElement).click()));
}

let stage: Stage;
let other: Client;

beforeAll(async () => {
  stage = await Stage.set();
  other = await stage.daemon.client();
});
afterAll(() => stage?.end());

test("who is nobody signs in with a token, which is kept nowhere", async () => {
  const page = await stage.page({ signIn: false });
  await page.locator("#token").waitFor();
  await accessible(page);
  await shoot(page, "sign-in-desktop");
  await page.fill("#token", "wrong");
  await page.keyboard.press("Enter");
  await page.locator("#token-error", { hasText: "Invalid token" }).waitFor();
  const token = await stage.daemon.token();
  await page.fill("#token", token);
  await page.keyboard.press("Enter");
  await page.locator(".home-form").waitFor();
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]));
  expect(kept).not.toContain(token);
  const cookies = await page.context().cookies();
  expect(cookies).toHaveLength(1);
  expect(cookies[0]).toMatchObject({ httpOnly: true, sameSite: "Strict", path: "/" });
  await page.reload();
  await page.locator(".home-form").waitFor();
});

/** Returns a new ticket of the owner. */
async function newTicket(): Promise<string> {
  const answer = await fetch(`http://${stage.daemon.address}/api/tickets`, {
    method: "POST",
    headers: { authorization: `Bearer ${await stage.daemon.token()}` },
  });
  return ((await answer.json()) as { ticket: string }).ticket;
}

test("a link with a ticket signs in the tab that shows the sign-in page, and one that is signed in", async () => {
  const page = await stage.page({ signIn: false });
  await page.locator("#token").waitFor();
  await page.getByText("acpd open").waitFor();
  for (const _ of ["from the sign-in page", "from a session"]) {
    await page.goto(`${stage.url}/#ticket=${await newTicket()}`);
    await page.locator(".home-form").waitFor();
    await expect.poll(() => page.url()).toBe(`${stage.url}/`);
  }
  // A link that has ended leaves the session as it is.
  await page.goto(`${stage.url}/#ticket=none`);
  await page.getByText("You are still signed in as owner").waitFor();
  await page.locator(".home-form").waitFor();
});

test("a link with a ticket signs in, once, and the ticket leaves the address", async () => {
  const ticket = await newTicket();
  const page = await stage.page({ signIn: false });
  await page.goto("about:blank");
  await page.goto(`${stage.url}/#ticket=${ticket}`);
  await page.locator(".home-form").waitFor();
  expect(page.url()).toBe(`${stage.url}/`);
  const again = await stage.page({ signIn: false });
  await again.goto("about:blank");
  await again.goto(`${stage.url}/#ticket=${ticket}`);
  await again.locator("#token-error", { hasText: "already used" }).waitFor();
});

/** Starts a web server on another port; records the cookies that it receives. */
async function serveElsewhere(): Promise<{ url: string; sent: string[]; end: () => void }> {
  const sent: string[] = [];
  const server = createServer((asked, answer) => {
    sent.push(asked.headers.cookie ?? "");
    answer.setHeader("content-type", "text/html").end("<title>elsewhere</title>");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sent, end: () => server.close() };
}

test("who serves another port of the host is sent the cookie, and cannot use it", async () => {
  const page = await stage.page();
  await page.locator(".home-form").waitFor();
  const elsewhere = await serveElsewhere();
  try {
    const tab = await page.context().newPage();
    await tab.goto(elsewhere.url);
    const cookie = elsewhere.sent[0]!;
    expect(cookie).toMatch(/acpd_session_\d+=[0-9a-f]{64}/);
    await expect.poll(() => tab.evaluate(() => ({ ...localStorage }))).toEqual({});
    const ask = async (method: string, path: string) =>
      (await fetch(stage.url + path, { method, headers: { cookie, origin: stage.url } })).status;
    expect(await ask("GET", "/api/session")).toBe(401);
    expect(await ask("POST", "/api/tickets")).toBe(401);
    expect(await ask("DELETE", "/api/session")).toBe(401);
    // As with an older version: a page that has lost its key signs in again.
    await page.evaluate(() => localStorage.removeItem("acpd.page-key"));
    await page.reload();
    await page.locator("#token").waitFor();
  } finally {
    elsewhere.end();
  }
});

test("tabs of one browser are signed in, and signed out, together", async () => {
  const page = await stage.page();
  const id = await startThread(stage, other);
  const tab = await page.context().newPage();
  // Opens a bookmark.
  await tab.goto(`${stage.url}/threads/${id}`);
  await tab.locator(".pane .view-title h1").waitFor();
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.locator("#token").waitFor();
  await tab.locator("#token").waitFor();
  await tab.fill("#token", await stage.daemon.token());
  await tab.keyboard.press("Enter");
  await tab.locator(".pane .view-title h1").waitFor();
  await page.locator(".home-form").waitFor();
});

/** The agent's text in 400 chunks, each once and in order. */
const WORDS = Array.from({ length: 400 }, (_, n) => `word ${n + 1}`).join(" ");

/** Follows such a turn up to its middle. */
async function followWords(page: Page): Promise<string> {
  const id = await startThread(stage, other, "stream n=400 ms=10");
  await openThread(stage, page, id);
  await page.locator(".virtual-line", { hasText: "word 40 " }).last().waitFor();
  return id;
}

/** Checks the whole conversation: the user's prompt, and the agent's text once and in order, in a completed turn. */
async function hasAllWords(page: Page): Promise<void> {
  const lines = page.locator(".th-line-of-item");
  const text = async () => (await lines.allInnerTexts()).map((one) => one.replace(/\s+/g, " ").trim());
  await expect.poll(text, { timeout: 30_000 }).toEqual([expect.stringContaining("stream n=400"), expect.stringMatching(new RegExp(`^\\D*${WORDS}\\D*$`))]);
  await expect.poll(() => page.locator(".th-line-of-turnEnd").count()).toBe(1);
}

test("a connection that breaks comes back by itself, and no event is lost or doubled", async () => {
  const page = await stage.page();
  const id = await followWords(page);
  stage.cable.cut();
  await page.locator(".banner").waitFor();
  await shoot(page, "offline-desktop");
  await accessible(page);
  await until(other, id, "idle");
  stage.cable.mend();
  // The time between two attempts has doubled up to 16 s.
  await page.locator(".banner").waitFor({ state: "detached", timeout: 40_000 });
  await hasAllWords(page);
}, 120_000);

test("a page that is loaded again in the middle of a turn has all of it, once", async () => {
  const page = await stage.page();
  await followWords(page);
  await page.reload();
  await page.locator(".virtual-line", { hasText: "word 40 " }).last().waitFor();
  await hasAllWords(page);
});

test("a page that slept for ten minutes has all that happened meanwhile, once", async () => {
  const page = await stage.page();
  await page.clock.install();
  const id = await followWords(page);
  const session = await page.context().newCDPSession(page);
  await session.send("Page.setWebLifecycleState", { state: "frozen" });
  // The daemon has closed the connection long before, and the page receives no notification of that.
  stage.cable.lose();
  await until(other, id, "idle");
  await session.send("Page.setWebLifecycleState", { state: "active" });
  // The page probes the connection, and drops it without a response.
  await page.clock.fastForward(600_000);
  await page.clock.fastForward(3_000);
  await hasAllWords(page);
});

test("the daemon is killed in the middle of a turn: what was said stands there once, and the page goes on", async () => {
  const page = await stage.page();
  const id = await followWords(page);
  await stage.daemon.kill("SIGKILL");
  await page.locator(".banner").waitFor();
  await stage.daemon.launch();
  await tryNow(page);
  await page.locator(".banner").waitFor({ state: "detached" });
  await page.locator(".th-line-of-turnEnd").first().waitFor();
  await say(page, "say after the restart");
  await page.locator(".virtual-line", { hasText: "after the restart" }).last().waitFor();
  await other.ready();
  await until(other, id, "idle");
  const { thread } = await other.call("thread/read", { threadId: id, includeTurns: true, limit: 10 });
  const said = (thread.turns ?? []).flatMap(({ items }) => items ?? []).flatMap((item) => ("text" in item && item.type === "agentMessage" ? [item.text ?? ""] : []));
  expect(said[0]).toContain("word 39 ");
  expect(WORDS.startsWith(said[0]!.trim())).toBe(true);
  const shown = async () => (await page.locator(".th-line-of-item .th-markdown").allInnerTexts()).map((one) => one.replace(/\s+/g, " ").trim());
  await expect.poll(async () => (await shown()).filter((one) => !one.startsWith("stream") && !one.startsWith("say"))).toEqual(said.map((one) => one.trim()));
});

test("of two tabs, one answers: the other has nothing more to press, and each says it once", async () => {
  const page = await stage.page();
  const id = await startThread(stage, other, "permission kind=execute command=make");
  await openThread(stage, page, id);
  const tab = await page.context().newPage();
  await openThread(stage, tab, id);
  const allow = (of: Page) => of.locator(".pane-foot").getByRole("button", { name: "Allow once", exact: true });
  await allow(page).waitFor();
  await allow(tab).click();
  await allow(page).waitFor({ state: "detached" });
  await until(other, id, "idle");
  for (const of of [page, tab]) {
    await of.locator(".th-line-of-turnEnd").first().waitFor();
    await expect.poll(() => allow(of).count()).toBe(0);
    await expect.poll(() => of.locator(".virtual-line", { hasText: "allowed (allow_once)" }).count()).toBe(1);
  }
  let resolved = 0;
  for await (const event of other.follow(id, { after: 0 })) {
    resolved += event.method === "serverRequest/resolved" ? 1 : 0;
    if (event.method === "turn/completed") {
      break;
    }
  }
  expect(resolved).toBe(1);
});

test("access that ends leads to the sign-in, and says so", async () => {
  const said = await stage.daemon.run("token", "create", "--name", "ann", "--role", "observer");
  const token = said.trim().split(/\s+/).at(-1)!;
  const page = await stage.page({ token });
  await page.locator(".side-list").waitFor();
  // An observer cannot start threads.
  await expect.poll(() => page.locator(".side-new").count()).toBe(0);
  await page.locator(".row").first().waitFor();
  await stage.daemon.run("token", "revoke", "ann");
  await page.locator("#token-error", { hasText: "has ended" }).waitFor();
});
