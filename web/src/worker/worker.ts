/**
 * The service worker: shows the page when the daemon is unreachable, and pushed notifications. It stores the shell of its own build when it is
 * installed, and nothing later. Each stored file must have the digest that the build recorded, also when it is served:
 * no page and no proxy can replace one.
 */

import { listenForPushes } from "./push.ts";
import { cacheOf, cachesToRemove, handlingOf, integrityOf, isFromProxy, isStorable, markCached, PAGE, type Shell } from "./shell.ts";

declare const self: ServiceWorkerGlobalScope;
/** Defined by the build. */
declare const SHELL: Shell;

const { build, files } = SHELL;
const name = cacheOf(build);

listenForPushes();
self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(removeOthers()));
self.addEventListener("fetch", (event) => {
  const { request } = event;
  const handling = handlingOf(request, self.location.origin, files);
  if (handling === "page") {
    event.respondWith(page(request));
  } else if (handling === "asset") {
    event.respondWith(asset(request));
  }
});

async function install(): Promise<void> {
  try {
    const cache = await caches.open(name);
    // One after the other: what the user does meanwhile comes first.
    for (const [path, integrity] of Object.entries(files)) {
      const response = await fetch(path, { integrity, redirect: "error", cache: path === PAGE ? "no-cache" : "default" });
      if (!isStorable(response)) {
        throw new Error(`cannot store ${path}: status ${response.status}`);
      }
      await cache.put(path, response);
    }
  } catch (error) {
    await caches.delete(name);
    throw error;
  }
  // Otherwise the previous build would stay while any of its pages is open.
  await self.skipWaiting();
}

async function removeOthers(): Promise<void> {
  const others = cachesToRemove(await caches.keys(), build);
  await Promise.all(others.map((other) => caches.delete(other)));
}

async function page(request: Request): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(request);
  } catch (error) {
    const shell = await cachedPage();
    if (!shell) {
      throw error;
    }
    return shell;
  }
  return (isFromProxy(response.status) && (await cachedPage())) || response;
}

async function asset(request: Request): Promise<Response> {
  return (await stored(new URL(request.url).pathname)) ?? fetch(request);
}

async function cachedPage(): Promise<Response | undefined> {
  const response = await stored(PAGE);
  if (!response) {
    return undefined;
  }
  // Including the content security policy. The text is neither compressed nor as long as the file any more.
  const headers = new Headers(response.headers);
  ["content-encoding", "content-length", "etag"].forEach((header) => headers.delete(header));
  return new Response(markCached(await response.text()), { headers });
}

/** Returns a stored file, unless it is absent or was changed. */
async function stored(path: string): Promise<Response | undefined> {
  try {
    const response = await caches.match(path, { cacheName: name, ignoreVary: true });
    const content = await response?.clone().arrayBuffer();
    return content && (await integrityOf(content)) === files[path] ? response : undefined;
  } catch (error) {
    // The network is still there if the browser's storage is damaged.
    console.warn(error);
    return undefined;
  }
}
