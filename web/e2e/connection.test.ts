/** Signing in, and what becomes of the page when the connection breaks or ends. */

import type { Client } from "@acpd/client";
import { afterAll, beforeAll, expect, test } from "vitest";

import { openThread, row, startThread, until } from "./support/acts.ts";
import { accessible, endBrowser, shoot, Stage } from "./support/browser.ts";

let stage: Stage;
let other: Client;

beforeAll(async () => {
  stage = await Stage.set();
  other = await stage.daemon.client();
});
afterAll(async () => {
  await stage.end();
  await endBrowser();
});

test("who is nobody signs in with a token, which is kept nowhere", async () => {
  const page = await stage.page({ signIn: false });
  await page.locator("#token").waitFor();
  await accessible(page);
  await shoot(page, "sign-in-desktop");
  await page.fill("#token", "wrong");
  await page.keyboard.press("Enter");
  await page.locator("#token-error", { hasText: "does not know" }).waitFor();
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

test("a link with a ticket signs in, once, and the ticket leaves the address", async () => {
  const answer = await fetch(`http://${stage.daemon.address}/api/tickets`, {
    method: "POST",
    headers: { authorization: `Bearer ${await stage.daemon.token()}` },
  });
  const { ticket } = (await answer.json()) as { ticket: string };
  const page = await stage.page({ signIn: false });
  await page.goto("about:blank");
  await page.goto(`${stage.url}/#ticket=${ticket}`);
  await page.locator(".home-form").waitFor();
  expect(page.url()).toBe(`${stage.url}/`);
  const again = await stage.page({ signIn: false });
  await again.goto("about:blank");
  await again.goto(`${stage.url}/#ticket=${ticket}`);
  await again.locator("#token-error", { hasText: "used already" }).waitFor();
});

test("a connection that breaks comes back by itself, and no event is lost or doubled", async () => {
  const page = await stage.page();
  const id = await startThread(stage, other, "stream n=400 ms=10");
  await openThread(stage, page, id);
  await page.locator(".virtual-line", { hasText: "word 40 " }).waitFor();
  stage.served.down();
  await page.locator(".banner").waitFor();
  await shoot(page, "offline-desktop");
  await accessible(page);
  await until(other, id, "idle");
  stage.served.up();
  await page.locator(".banner").waitFor({ state: "detached" });
  const words = Array.from({ length: 400 }, (_, n) => `word ${n + 1}`).join(" ");
  const text = () => page.locator(".virtual-line", { hasText: "word 200 " }).last().innerText();
  await expect.poll(async () => (await text()).replace(/\s+/g, " ")).toContain(words);
});

test("the daemon restarts: the page goes on", async () => {
  const page = await stage.page();
  const id = await startThread(stage, other, "say before");
  await until(other, id, "idle");
  await openThread(stage, page, id);
  await page.locator(".virtual-line", { hasText: "before" }).last().waitFor();
  await stage.daemon.kill("SIGKILL");
  await page.locator(".banner").waitFor();
  await stage.daemon.launch();
  await page.locator(".banner button").click();
  await page.locator(".banner").waitFor({ state: "detached" });
  await page.locator(".pane textarea").fill("say after the restart");
  await page.locator(".pane textarea").press("Enter");
  await page.locator(".virtual-line", { hasText: "after the restart" }).last().waitFor();
});

test("access that ends leads to the sign-in, and says so", async () => {
  const said = await stage.daemon.run("token", "create", "--name", "ann", "--role", "observer");
  const token = said.trim().split(/\s+/).at(-1)!;
  const page = await stage.page({ token });
  await page.locator(".side-list").waitFor();
  // Who looks on starts nothing.
  expect(await page.locator(".side-new").count()).toBe(0);
  await row(page, "say before").first().waitFor();
  await stage.daemon.run("token", "revoke", "ann");
  await page.locator("#token-error", { hasText: "has ended" }).waitFor();
});
