/** Installing the page, and its service worker: what it stores, and what is shown without the daemon and after an update. */

import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Client } from "@acpd/client";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";

import { buildWorker } from "../build-worker.ts";
import { openThread, say, startThread, startWorker, until, workerStarted } from "./support/acts.ts";
import { accessible, PHONE, shoot, Stage } from "./support/browser.ts";
import { DIST } from "./support/ui.ts";

let stage: Stage;
let other: Client;
let isStopped = false;
const made: string[] = [];

beforeAll(async () => {
  stage = await Stage.set({}, { workers: true });
  other = await stage.daemon.client();
});
afterEach(async () => {
  await startDaemon();
  stage.cable.mend();
  stage.front!.directory = DIST;
  stage.front!.whenUnreachable = undefined;
});
afterAll(async () => {
  await stage?.end();
  await Promise.all(made.map((directory) => rm(directory, { recursive: true })));
});

async function stopDaemon(): Promise<void> {
  isStopped = true;
  await stage.daemon.kill();
}

async function startDaemon(): Promise<void> {
  if (isStopped) {
    isStopped = false;
    await stage.daemon.launch();
    await other.ready();
  }
}

/** Opens the page, and waits until its worker works. */
async function installed(options: Parameters<Stage["page"]>[0] = {}): Promise<Page> {
  const page = await stage.page(options);
  await page.locator(".home-form, #token").first().waitFor();
  await startWorker(page);
  return page;
}

/** Returns all caches of the page's origin: the paths in each, with all of their text. */
const cachesOf = (page: Page) =>
  page.evaluate(async () => {
    const all: { name: string; paths: string[]; text: string }[] = [];
    for (const name of await caches.keys()) {
      const cache = await caches.open(name);
      const requests = await cache.keys();
      const texts = await Promise.all(requests.map(async (request) => (await cache.match(request))!.text()));
      const paths = requests.map(({ url }) => url.slice(location.origin.length)).sort();
      all.push({ name, paths, text: texts.join("\n") });
    }
    return all;
  });

/** Returns the paths of the shell in a directory. */
const shellOf = async (directory: string) =>
  ["/", ...(await readdir(join(directory, "assets"))).map((name) => `/assets/${name}`)].sort();

/** Copies the UI, changes the page, and builds the worker for that. */
async function anotherBuild(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "acpd-ui-"));
  made.push(directory);
  await cp(DIST, directory, { recursive: true });
  await writeFile(join(directory, "assets", "changed-12345678.js"), 'document.documentElement.dataset.build = "changed";\n');
  const html = await readFile(join(directory, "index.html"), "utf8");
  await writeFile(join(directory, "index.html"), html.replace("</head>", '<script type="module" src="/assets/changed-12345678.js"></script></head>'));
  await buildWorker(directory);
  return directory;
}

const builtAs = (page: Page) => page.evaluate(() => document.documentElement.dataset.build).catch(() => undefined);
const isCached = (page: Page) => page.evaluate(() => "cached" in document.documentElement.dataset);
const banner = (page: Page) => page.locator(".banner", { hasText: "Offline. Reconnecting…" });

test("the manifest is complete, and the icons are as large as it says", async () => {
  const page = await stage.page();
  const href = await page.locator('link[rel="manifest"]').getAttribute("href");
  const answer = await page.request.get(stage.url + href!);
  expect(answer.headers()["content-type"]).toBe("application/manifest+json");
  const manifest = (await answer.json()) as Record<string, unknown> & { icons: Record<string, string>[] };
  expect(manifest).toMatchObject({ name: "acpd", short_name: "acpd", id: "/", start_url: "/", scope: "/", display: "standalone" });
  const colours = await page.locator('meta[name="theme-color"]').evaluateAll((all) => all.map((meta) => meta.getAttribute("content")));
  expect(colours).toHaveLength(2);
  expect(colours).toContain(manifest.theme_color);
  expect(colours).toContain(manifest.background_color);
  const sizes: string[] = [];
  for (const { src, type, sizes: claimed, purpose = "any" } of manifest.icons) {
    const icon = await page.request.get(stage.url + src!);
    expect(icon.status(), src).toBe(200);
    expect(icon.headers()["content-type"], src).toBe(type);
    const bytes = await icon.body();
    if (type === "image/png") {
      expect(bytes.subarray(0, 8).toString("latin1"), src).toBe("\x89PNG\r\n\x1a\n");
      expect(`${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`, src).toBe(claimed);
    } else {
      expect(bytes.toString(), src).toMatch(/^<svg /);
    }
    sizes.push(`${purpose} ${claimed}`);
  }
  expect(sizes.sort()).toEqual(["any 192x192", "any 512x512", "any any", "maskable 512x512"]);
  const touch = await page.locator('link[rel="apple-touch-icon"]').getAttribute("href");
  expect((await page.request.get(stage.url + touch!)).headers()["content-type"]).toBe("image/png");
  // The browser's own opinion. These tests run in private windows, in which nothing can be installed.
  const session = await page.context().newCDPSession(page);
  const { errors } = await session.send("Page.getAppManifest");
  expect(errors).toEqual([]);
  const { installabilityErrors } = await session.send("Page.getInstallabilityErrors");
  expect(installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== "in-incognito")).toEqual([]);
});

test("the worker stores the page and the assets of its build, and browsers ask for a newer one", async () => {
  const page = await stage.page();
  await workerStarted(page);
  const script = await page.request.get(`${stage.url}/worker.js`);
  expect(script.headers()).toMatchObject({ "cache-control": "no-cache", "content-type": "text/javascript; charset=utf-8" });
  expect(script.headers()["content-security-policy"]).toContain("script-src 'self'");
  const caches = await cachesOf(page);
  expect(caches.map(({ paths }) => paths)).toEqual([await shellOf(DIST)]);
  expect(caches[0]!.name).toMatch(/^acpd-shell-[0-9a-f]{16}$/);
  // Then scripts and styles come from there.
  const sources: boolean[] = [];
  page.on("response", (response) => new URL(response.url()).pathname.startsWith("/assets/") && sources.push(response.fromServiceWorker()));
  const visit = await page.reload();
  await page.locator(".home-form").waitFor();
  expect(sources.length).toBeGreaterThan(3);
  expect(new Set(sources)).toEqual(new Set([true]));
  await expect.poll(() => isCached(page)).toBe(false);
  expect(visit!.headers()["content-security-policy"]).toContain("script-src 'self'");
});

test("nothing of a thread is stored, and the documents are not the worker's", async () => {
  const page = await installed();
  const before = await cachesOf(page);
  const id = await startThread(stage, other, "say the pelican was here", { name: "Pelican" });
  await until(other, id, "idle");
  await openThread(stage, page, id);
  await page.locator(".th-agent", { hasText: "pelican" }).first().waitFor();
  await say(page, "say another pelican");
  await page.locator(".th-agent", { hasText: "another pelican" }).first().waitFor();
  await page.reload();
  await page.locator(".th-agent", { hasText: "another pelican" }).first().waitFor();
  await page.goto(`${stage.url}/threads/${id}/policy`);
  await page.locator(".explain").waitFor();
  const tab = await page.context().newPage();
  const book = await tab.goto(`${stage.url}/docs/`);
  expect(book!.fromServiceWorker()).toBe(false);
  expect(book!.headers()["content-security-policy"]).toMatch(/^sandbox /);
  const reached = await tab.evaluate(async () => {
    const attempt = async (what: () => unknown) => {
      try {
        return await what();
      } catch (error) {
        return (error as Error).name;
      }
    };
    return [await attempt(() => caches.keys()), await attempt(() => navigator.serviceWorker.register("/worker.js"))];
  });
  expect(reached).toEqual(["SecurityError", "SecurityError"]);
  await tab.close();
  await expect.poll(() => cachesOf(page)).toEqual(before);
  expect(before[0]!.text).not.toMatch(/pelican/i);
  // Signing out leaves the same.
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.locator("#token").waitFor();
  await expect.poll(() => cachesOf(page)).toEqual(before);
});

test("without the daemon the page is shown, says so, and works as soon as the daemon is back", async () => {
  const page = await installed({ size: PHONE });
  const id = await startThread(stage, other, "say hello", { name: "Later" });
  await stopDaemon();
  for (const path of ["/", `/threads/${id}`, "/agents"]) {
    const visit = await page.goto(stage.url + path);
    expect(visit!.fromServiceWorker(), path).toBe(true);
    expect(visit!.headers()["content-security-policy"], path).toContain("script-src 'self'");
    await banner(page).waitFor();
    expect(page.url(), path).toBe(stage.url + path);
  }
  await page.reload();
  await banner(page).waitFor();
  await shoot(page, "offline-start-phone");
  await accessible(page);
  await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  // Other addresses have nothing to show.
  for (const path of ["/nothing", "/docs/", "/api/session"]) {
    const tab = await page.context().newPage();
    await expect(tab.goto(stage.url + path), path).rejects.toThrow(/ERR_/);
    await tab.close();
  }
  await page.goto(`${stage.url}/threads/${id}`);
  await banner(page).waitFor();
  await startDaemon();
  await page.getByRole("button", { name: "Try now" }).evaluateAll((all) => all.forEach((one) => (one as HTMLElement).click()));
  await page.locator(".pane .view-title h1").waitFor();
  await expect.poll(() => isCached(page)).toBe(false);
  expect(page.url()).toBe(`${stage.url}/threads/${id}`);
  await banner(page).waitFor({ state: "detached" });
});

test("a proxy that cannot reach the daemon is as good as no network; any other response is shown", async () => {
  const page = await installed();
  await stopDaemon();
  stage.front!.whenUnreachable = 502;
  expect((await page.goto(stage.url))!.status()).toBe(200);
  await banner(page).waitFor();
  stage.front!.whenUnreachable = 500;
  expect((await page.goto(stage.url))!.status()).toBe(500);
  expect(await page.title()).toBe("Bad gateway");
});

test("a file that was changed in the cache is not used", async () => {
  const page = await installed();
  await page.evaluate(async () => {
    const [name] = await caches.keys();
    const cache = await caches.open(name!);
    for (const request of await cache.keys()) {
      const type = request.url.endsWith(".css") ? "text/css" : request.url.endsWith(".js") ? "text/javascript" : "text/html";
      const body = type === "text/html" ? "<title>poison</title>" : type === "text/css" ? "* { display: none }" : "document.title = 'poison'";
      await cache.put(request, new Response(body, { headers: { "content-type": type } }));
    }
  });
  await page.reload();
  await page.locator(".home-form").waitFor();
  expect(await page.title()).not.toBe("poison");
  stage.cable.cut();
  const tab = await page.context().newPage();
  await expect(tab.goto(stage.url)).rejects.toThrow(/ERR_/);
});

test("after an update the new page is shown at once, and the old cache is removed", async () => {
  const page = await installed();
  const [old] = await cachesOf(page);
  const changed = await anotherBuild();
  stage.front!.directory = changed;
  await page.reload();
  await expect.poll(() => builtAs(page)).toBe("changed");
  await expect.poll(async () => (await cachesOf(page)).map(({ paths }) => paths)).toEqual([await shellOf(changed)]);
  expect((await cachesOf(page))[0]!.name).not.toBe(old!.name);
  stage.cable.cut();
  await page.reload();
  await banner(page).waitFor();
  await expect.poll(() => builtAs(page)).toBe("changed");
});

test("a page from the cache does not go on with a newer daemon, also without a session", async () => {
  const page = await installed();
  const stranger = await installed({ signIn: false });
  const changed = await anotherBuild();
  stage.cable.cut();
  for (const one of [page, stranger]) {
    await one.reload();
    await banner(one).waitFor();
    await expect.poll(() => isCached(one)).toBe(true);
  }
  stage.front!.directory = changed;
  stage.cable.mend();
  await expect.poll(() => builtAs(page)).toBe("changed");
  await page.locator(".home-form").waitFor();
  // The form is that of the new build.
  await expect.poll(() => builtAs(stranger)).toBe("changed");
  await stranger.fill("#token", await stage.daemon.token());
  await stranger.keyboard.press("Enter");
  await stranger.locator(".home-form").waitFor();
});

test("a build that is not whole is not stored, and the previous one stays", async () => {
  const page = await installed();
  const before = await cachesOf(page);
  const broken = await anotherBuild();
  await writeFile(join(broken, "assets", "changed-12345678.js"), "document.title = 'changed on the way';\n");
  stage.front!.directory = broken;
  const state = await page.evaluate(async () => {
    const registration = await navigator.serviceWorker.ready;
    const found = new Promise<ServiceWorker>((done) => registration.addEventListener("updatefound", () => done(registration.installing!)));
    await registration.update();
    const worker = await found;
    while (worker.state === "installing") {
      await new Promise((done) => worker.addEventListener("statechange", done, { once: true }));
    }
    return worker.state;
  });
  expect(state).toBe("redundant");
  await expect.poll(() => cachesOf(page)).toEqual(before);
});
