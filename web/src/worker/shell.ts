/**
 * What the service worker keeps and serves: the page and the scripts, styles and fonts of one build, nothing else. Pure, so that
 * tests need no browser.
 */

import { VIEWS } from "../state/views.ts";

/** The files of a build. The build inserts them into the worker's script. */
export interface Shell {
  /** Changes with every file, and with the worker itself. */
  build: string;
  /** The digest of each file, as in `integrity`, by its path. `/` is the page. */
  files: Readonly<Record<string, string>>;
}

/** The path of the page among the files. */
export const PAGE = "/";

const PREFIX = "acpd-shell-";

/** Returns the name of a build's cache. */
export const cacheOf = (build: string): string => PREFIX + build;

/** Returns the caches of other builds among all caches of this origin. */
export function cachesToRemove(names: readonly string[], build: string): string[] {
  return names.filter((name) => name.startsWith(PREFIX) && name !== cacheOf(build));
}

/**
 * How a request is handled: `page` from the network, and from the cache if the daemon is unreachable; `asset` from the
 * cache. The worker leaves all others to the browser, such as those of the API and of the documents.
 */
export type Handling = "page" | "asset" | "none";

export function handlingOf(
  { method, mode, destination, url }: Pick<Request, "method" | "mode" | "destination" | "url">,
  origin: string,
  files: Shell["files"],
): Handling {
  const address = new URL(url);
  if (method !== "GET" || address.origin !== origin) {
    return "none";
  }
  if (mode === "navigate") {
    const first = address.pathname.split("/")[1] ?? "";
    const isPage = address.pathname === PAGE || VIEWS.some((view) => view === first);
    return isPage && destination === "document" ? "page" : "none";
  }
  const isFile = address.pathname !== PAGE && Object.hasOwn(files, address.pathname);
  return isFile && address.search === "" ? "asset" : "none";
}

/** Returns whether a response may be stored: a complete file that this origin itself has sent. */
export function isStorable({ status, type, redirected }: Pick<Response, "status" | "type" | "redirected">): boolean {
  return status === 200 && type === "basic" && !redirected;
}

/** Returns whether a proxy responded because it could not reach the daemon, which never sends these codes itself. */
export const isFromProxy = (status: number): boolean => status === 502 || status === 504;

/** Marks the page as one from the cache, which may be older than the daemon that it reaches later. */
export function markCached(html: string): string {
  return html.replace("<html", "<html data-cached");
}

/** Returns the digest of a file in the form of `integrity`. */
export async function integrityOf(content: BufferSource): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", content));
  return `sha256-${btoa(String.fromCharCode(...digest))}`;
}
