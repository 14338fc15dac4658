import { expect, test } from "vitest";

import daemon from "../../../crates/web/src/lib.rs?raw";
import page from "../../index.html?raw";
import { parse } from "../../src/app/route.ts";
import { VIEWS } from "../../src/state/views.ts";
import { cacheOf, cachesToRemove, handlingOf, integrityOf, isFromProxy, isStorable, markCached } from "../../src/worker/shell.ts";

const HERE = "https://acpd.example";
const FILES = { "/": "sha256-page", "/assets/first-1a2b.js": "sha256-first", "/assets/first-1a2b.css": "sha256-style" };

const handled = (path: string, { from = HERE, ...request }: Partial<Request> & { from?: string } = {}) =>
  handlingOf({ method: "GET", mode: "cors", destination: "script", url: from + path, ...request }, HERE, FILES);
const visited = (path: string, request: Partial<Request> = {}) => handled(path, { mode: "navigate", destination: "document", ...request });

test("visits of the page's own addresses come from the network, else from the cache", () => {
  for (const path of ["/", "/?agent=fake", "/threads/019a", "/threads/019a/policy?item=3", "/agents", "/policy", "/archive"]) {
    expect(visited(path), path).toBe("page");
  }
});

test("the addresses are those of the page, and of the daemon", () => {
  for (const view of VIEWS) {
    expect(visited(`/${view}`), view).toBe("page");
    expect(parse(`/${view}/019a`).view, view).not.toBe("home");
  }
  const list = /^const VIEWS: \[&str; \d+\] = \[(.*)\];$/m.exec(daemon)?.[1] ?? "";
  expect([...list.matchAll(/"(\w+)"/g)].map(([, view]) => view)).toEqual(VIEWS);
});

test("the API, the documents and unknown addresses are left to the browser", () => {
  for (const path of [
    "/api/session",
    "/api/threads/019a/export",
    "/ws",
    "/acp",
    "/docs",
    "/docs/",
    "/docs/security.html",
    "/docs/threads/",
    "/healthz",
    "/metrics",
    "/nothing",
    "/threadsome",
    "/worker.js",
    "/acpd.webmanifest",
    "/favicon.svg",
    "/assets/first-1a2b.js",
    "//threads",
    "/%74hreads/019a",
  ]) {
    expect(visited(path), path).toBe("none");
  }
});

test("assets of this build come from the cache, and no other file", () => {
  expect(handled("/assets/first-1a2b.js")).toBe("asset");
  expect(handled("/assets/first-1a2b.css", { mode: "no-cors", destination: "style" })).toBe("asset");
  for (const path of [
    "/",
    "/assets/first-0000.js",
    "/assets/first-1a2b.js?x",
    "/assets/",
    "/docs/assets/first-1a2b.js",
    "/api/session",
    "/threads/019a",
    "/constructor",
    "/__proto__",
    "/assets/../api/session",
  ]) {
    expect(handled(path), path).toBe("none");
  }
});

test("other methods, other origins and frames are left to the browser", () => {
  for (const method of ["POST", "HEAD", "PUT", "DELETE"]) {
    expect(visited("/", { method }), method).toBe("none");
    expect(handled("/assets/first-1a2b.js", { method }), method).toBe("none");
  }
  for (const from of ["https://acpd.example:8443", "http://acpd.example", "https://elsewhere.example"]) {
    expect(handled("/assets/first-1a2b.js", { from }), from).toBe("none");
    expect(handled("/", { from, mode: "navigate", destination: "document" }), from).toBe("none");
  }
  for (const destination of ["iframe", "embed", "object"] as const) {
    expect(visited("/", { destination }), destination).toBe("none");
  }
});

test("only complete files of this origin are stored", () => {
  const good = { status: 200, type: "basic", redirected: false } as const;
  expect(isStorable(good)).toBe(true);
  for (const status of [0, 204, 206, 301, 304, 401, 404, 500, 502]) {
    expect(isStorable({ ...good, status }), String(status)).toBe(false);
  }
  for (const type of ["cors", "default", "error", "opaque", "opaqueredirect"] as const) {
    expect(isStorable({ ...good, type }), type).toBe(false);
  }
  expect(isStorable({ ...good, redirected: true })).toBe(false);
});

test("the caches of other builds are removed, and none that others may have made", () => {
  const names = [cacheOf("old"), "photos", cacheOf("new"), cacheOf("older")];
  expect(cachesToRemove(names, "new")).toEqual([cacheOf("old"), cacheOf("older")]);
  expect(cachesToRemove([], "new")).toEqual([]);
});

test("a proxy that cannot reach the daemon is not the daemon", () => {
  expect([200, 404, 429, 500, 502, 503, 504].filter(isFromProxy)).toEqual([502, 504]);
});

test("the page from the cache has a mark, once", () => {
  const marked = new DOMParser().parseFromString(markCached(page), "text/html");
  expect("cached" in marked.documentElement.dataset).toBe(true);
  expect(marked.documentElement.lang).toBe("en");
  expect(markCached(page)).toHaveLength(page.length + " data-cached".length);
});

test("a digest has the form of the attribute integrity", async () => {
  expect(await integrityOf(new TextEncoder().encode(""))).toBe("sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
});
