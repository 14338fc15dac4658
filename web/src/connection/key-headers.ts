/** How requests of the page and of the service worker show the page key. */

/** The header with the page key. */
export const HEADER = "acpd-page-key";

/** Adds the page key to a request's headers. */
export function withKey(key: string | undefined, init: RequestInit = {}): RequestInit {
  const headers = new Headers(init.headers);
  if (key !== undefined) {
    headers.set(HEADER, key);
  }
  return { ...init, headers };
}

/** Returns the protocols that a WebSocket offers. Browsers cannot set its headers, so the key is one of them. */
export function protocolsOf(key: string | undefined): string[] {
  return key === undefined ? [] : ["acpd", `acpd.page-key.${key}`];
}
