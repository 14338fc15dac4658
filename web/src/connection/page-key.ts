/**
 * The key of this page, without which the session's cookie opens nothing. A browser sends a cookie to every port of a
 * host; what it keeps in `localStorage`, it gives to pages of the same port alone.
 */

import type { Socket } from "@acpd/client";

const NAME = "acpd.page-key";

/** Where nothing is kept, as in some private windows, the key is good until the page is left. */
let unkept: string | undefined;

/** The key that the daemon gave to this browser's session, also if another tab has signed in. */
function pageKey(): string | undefined {
  try {
    return localStorage.getItem(NAME) ?? unkept;
  } catch {
    return unkept;
  }
}

/** Keeps the key of a session that has begun; without one, forgets that of a session that is over. */
export function keepPageKey(key?: string): void {
  unkept = key;
  try {
    if (key === undefined) {
      localStorage.removeItem(NAME);
    } else {
      localStorage.setItem(NAME, key);
    }
  } catch {
    // Nothing is kept here.
  }
}

/** Calls `handler` when another tab has signed in. */
export function onKeyOfOtherTab(handler: () => void): void {
  addEventListener("storage", (event) => {
    if (event.key === NAME && event.newValue !== null) {
      handler();
    }
  });
}

/** `fetch` of something that the daemon gives to this session alone. */
export function fetchAsPage(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  const key = pageKey();
  if (key !== undefined) {
    headers.set("acpd-page-key", key);
  }
  return fetch(path, { ...init, headers });
}

/** A WebSocket of this page. A browser lets it set no header, so the key is one of the protocols that it offers. */
export class PageSocket extends WebSocket implements Socket {
  constructor(url: string) {
    const key = pageKey();
    super(url, key === undefined ? [] : ["acpd", `acpd.page-key.${key}`]);
  }
}
