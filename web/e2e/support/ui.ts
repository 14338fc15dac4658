/**
 * Selects the UI under test: the one embedded in the daemon, if it equals the one in `dist`. Otherwise the browser
 * loads `dist` in its place, with the daemon's response headers. So work on the UI does not require a rebuild of the
 * daemon.
 */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

import type { BrowserContext } from "playwright-core";

const DIST = fileURLToPath(new URL("../../dist/", import.meta.url));

const TYPES: Record<string, string> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

let told = false;

/** Returns whether the daemon at this address embeds the UI of `dist`. With ACPD_SERVES_WEB=1 it must. */
export async function isBuiltIn(url: string): Promise<boolean> {
  const served = await (await fetch(url)).text();
  const same = served === (await readFile(join(DIST, "index.html"), "utf8"));
  if (!same) {
    assert.notEqual(process.env.ACPD_SERVES_WEB, "1", "the daemon has another UI built in: run make web, and build it again");
    if (!told) {
      told = true;
      console.log("The daemon has another UI built in than dist, which is tested in its place.");
    }
  }
  return same;
}

/** Replaces the embedded UI by `dist`. */
export async function putInPlace(context: BrowserContext, url: string): Promise<void> {
  const { headers } = await context.request.get(url).then((answer) => ({ headers: answer.headers() }));
  const { "content-length": _, "content-encoding": __, etag: ___, ...kept } = headers;
  // Chromium does not know the origin of such a page, and would ask for permission to connect to this host.
  await context.grantPermissions(["local-network-access"], { origin: url });
  await context.route(
    ({ origin, pathname }) => origin === url && !pathname.startsWith("/api/") && pathname !== "/ws",
    async (route) => {
      const { pathname } = new URL(route.request().url());
      const found = await readFile(join(DIST, pathname)).catch(() => undefined);
      await route.fulfill({
        headers: { ...kept, "content-type": found ? TYPES[extname(pathname)]! : "text/html; charset=utf-8" },
        body: found ?? (await readFile(join(DIST, "index.html"))),
      });
    },
  );
}
