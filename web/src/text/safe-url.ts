// URLs from agents, and which of them may be opened.

/** The allowed schemes of links. Other URLs are shown as text. */
const FOLLOWED = new Set(["http:", "https:", "mailto:"]);

/** Returns the normalized URL, or `undefined` if it must not be opened. */
export function followable(address: string): string | undefined {
  const url = parse(address);
  return url !== undefined && FOLLOWED.has(url.protocol) ? url.href : undefined;
}

/** The real target of a URL. */
export interface Destination {
  /** Normalized: non-ASCII hosts are written as `xn--…`, so that no host looks like another one. */
  href: string;
  host: string;
  /** The text before an `@` that looks like a host. */
  disguise?: string;
  /** Whether the connection is unencrypted. */
  insecure: boolean;
}

/** Returns the target of a web URL; `undefined` for any other URL. */
export function destination(address: string): Destination | undefined {
  const url = parse(address);
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:")) return undefined;
  const found: Destination = { href: url.href, host: url.host, insecure: url.protocol === "http:" };
  if (url.username !== "" || url.password !== "") found.disguise = url.username || url.password;
  return found;
}

/** Rejects relative URLs: they would lead to the daemon. */
function parse(address: string): URL | undefined {
  try {
    return new URL(address);
  } catch {
    return undefined;
  }
}
