// Addresses that come from agents, and which of them a person may be led to.

/** What a link may lead to. Everything else is shown as text. */
const FOLLOWED = new Set(["http:", "https:", "mailto:"]);

/** The address as the browser would follow it, or nothing if it must not be followed. */
export function followable(address: string): string | undefined {
  const url = parse(address);
  return url !== undefined && FOLLOWED.has(url.protocol) ? url.href : undefined;
}

/** Where an address that is to be opened really leads. */
export interface Destination {
  /** Normalised: letters of other scripts stand as `xn--…`, so that no host looks like another one. */
  href: string;
  host: string;
  /** What stands before an `@` and looks like a host, but is none. */
  disguise?: string;
  /** Whether others on the way can read and change it. */
  insecure: boolean;
}

/** Where a web address leads; nothing if it is not one. */
export function destination(address: string): Destination | undefined {
  const url = parse(address);
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:")) return undefined;
  const found: Destination = { href: url.href, host: url.host, insecure: url.protocol === "http:" };
  if (url.username !== "" || url.password !== "") found.disguise = url.username || url.password;
  return found;
}

/** Relative addresses are no addresses here: they would lead into the daemon. */
function parse(address: string): URL | undefined {
  try {
    return new URL(address);
  } catch {
    return undefined;
  }
}
