/**
 * The page key, without which the session cookie is useless. A browser sends a cookie to every port of a host, but
 * gives `localStorage` only to pages of the same port.
 */

import type { Socket } from "@acpd/client";

import { HEADER, protocolsOf, withKey } from "./key-headers.ts";

const OWN = "acpd.page-key";
/** The name under which this page finds its key: its own session's, or that of the shared thread that it shows. */
let name = OWN;

/** Makes this page use the session of a link, beside the browser's own one. */
export function useKeyOfShare(id: string): void {
  name = `acpd.share-key.${id}`;
}

/** The key for browsers that store nothing, as in some private windows: valid until the page is left. */
let unkept: string | undefined;

/** Returns the key of this browser's session, even if another tab has signed in. */
function pageKey(): string | undefined {
  try {
    return localStorage.getItem(name) ?? unkept;
  } catch {
    return unkept;
  }
}

/** Returns the key of the browser's own session. A page with a shared thread uses another one. */
export function ownPageKey(): string | undefined {
  return name === OWN ? pageKey() : undefined;
}

/** Stores the key of a new session; without a key, removes that of an ended session. */
export function keepPageKey(key?: string): void {
  unkept = key;
  try {
    if (key === undefined) {
      localStorage.removeItem(name);
    } else {
      localStorage.setItem(name, key);
    }
  } catch {
    // This browser stores nothing.
  }
}

/** Calls `handler` when another tab has signed in. */
export function onKeyOfOtherTab(handler: () => void): void {
  addEventListener("storage", (event) => {
    if (event.key === name && event.newValue !== null) {
      handler();
    }
  });
}

/** Calls `fetch` with the page key, for resources of this session. */
export function fetchAsPage(path: string, init?: RequestInit): Promise<Response> {
  return fetch(path, withKey(pageKey(), init));
}

/** Requests a resource with the page key, and blocks the page meanwhile. */
export function requestNow(path: string): XMLHttpRequest {
  const request = opened("GET", path, false);
  request.send();
  return request;
}

/** Opens a request with the page key. */
export function opened(method: string, path: string, async = true): XMLHttpRequest {
  const request = new XMLHttpRequest();
  request.open(method, path, async);
  const key = pageKey();
  if (key !== undefined) {
    request.setRequestHeader(HEADER, key);
  }
  return request;
}

/** A WebSocket with the page key. */
export class PageSocket extends WebSocket implements Socket {
  constructor(url: string) {
    super(url, protocolsOf(pageKey()));
  }
}
