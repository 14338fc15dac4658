/**
 * This browser's session at the daemon. The credentials, a token or a ticket, are sent once in a request body and not
 * stored. The daemon returns a cookie, which no script can read, and the page key.
 */

import type { Role } from "@acpd/client";

import { SHARED } from "../text/shared-address.ts";
import { fetchAsPage, keepPageKey, useKeyOfShare } from "./page-key.ts";

export interface Session {
  principal: string;
  role: Role;
  /** Milliseconds since the epoch; absent if only disuse ends the session. */
  expiresAt?: number;
  /** The link that opened the session. It reaches this thread only. */
  share?: SharedThread;
}

export interface SharedThread {
  id: string;
  threadId: string;
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

/** A link to a shared thread. Its secret is absent once the link was exchanged for a session. */
export interface ShareLink {
  id: string;
  secret?: string;
}

/** The daemon rejected this browser; the message is a sentence for the user. */
export class Refused extends Error {
  override readonly name = "Refused";
}

/** The daemon cannot be reached. */
export class Unreachable extends Refused {}

/** Shown when a link opens nothing, for whatever reason. */
export const LINK_ENDED = "This link has expired or was revoked. Ask for a new one.";

/** Shown when the address has only the id of a link, and this browser has no session of it. */
const LINK_NEEDED = "This browser has no access to the thread any more. Open the link again that you received.";

/** Time for the daemon to respond, in milliseconds. */
const PATIENCE_MS = 15_000;

/** Returns the current session; `undefined` if there is none. Rejects if the daemon is unreachable. */
export async function whoAmI(): Promise<Session | undefined> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const response = await fetchAsPage("/api/session", { headers: { accept: "application/json" }, signal });
  if (response.status === 401 || response.status === 403) {
    return undefined;
  }
  return read(response);
}

const INVALID = "Invalid token.";

/** Starts a session with a token, or with a single-use ticket. */
export async function signIn(shown: { token: string } | { ticket: string }): Promise<Session> {
  let response: Response;
  try {
    response = await fetch("/api/session", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(shown),
    });
  } catch {
    throw new Unreachable("The daemon is unreachable.");
  }
  if (response.status === 429) {
    throw new Refused("Too many failed attempts from this address. Wait a minute, then try again.");
  }
  if (response.status === 401) {
    throw new Refused(
      "ticket" in shown
        ? "This sign-in link has expired or was already used. Run acpd open again, or enter a token."
        : INVALID,
    );
  }
  const { pageKey, ...session } = await read(response);
  if (session.share !== undefined) {
    useKeyOfShare(session.share.id);
  }
  keepPageKey(pageKey);
  // The response to the sign-in may omit the principal.
  return session.principal === undefined ? ((await whoAmI()) ?? session) : session;
}

/** Exchanges a link for a session, unless this browser has one of it already. Returns `undefined` if the link has ended. */
export async function openShare({ id, secret }: ShareLink): Promise<Session | undefined> {
  useKeyOfShare(id);
  const known = await whoAmI();
  if (known?.share?.id === id) {
    return known;
  }
  keepPageKey();
  if (secret === undefined) {
    throw new Refused(LINK_NEEDED);
  }
  return signIn({ token: secret }).catch((error: unknown) => {
    // It is no token that a user has mistyped.
    if (error instanceof Refused && error.message === INVALID) {
      return undefined;
    }
    throw error;
  });
}

/** Ends the session, and all connections of it. */
export async function signOut(): Promise<void> {
  const ended = fetchAsPage("/api/session", { method: "DELETE" });
  // Even if the daemon is unreachable.
  keepPageKey();
  await ended;
}

/**
 * Reads the credentials after `#` in the link, which no server and no log receives. Removes them from the address
 * immediately.
 */
export function takeFromLink(): { token: string } | { ticket: string } | { share: ShareLink } | undefined {
  const params = new URLSearchParams(location.hash.slice(1));
  const secret = params.get("share");
  const shared = params.get("shared") ?? /^acpd_share_([0-9a-f]+)_/.exec(secret ?? "")?.[1];
  if (secret !== null || shared !== undefined) {
    // The id is not secret. With it, the page finds its session again.
    const id = shared ?? "";
    history.replaceState(history.state, "", `${location.pathname}${location.search}${SHARED}${encodeURIComponent(id)}`);
    return { share: secret === null ? { id } : { id, secret } };
  }
  const ticket = params.get("ticket");
  const token = params.get("token");
  if (ticket === null && token === null) {
    return undefined;
  }
  history.replaceState(history.state, "", location.pathname + location.search);
  return ticket !== null ? { ticket } : { token: token! };
}

/** Returns the body of a response. Rejects with the daemon's sentence if it is an error. */
export async function read<T = Session & { pageKey?: string }>(response: Response): Promise<T> {
  const body = (await response.json().catch(() => ({}))) as T & { error?: { message?: string } };
  if (!response.ok) {
    throw new Refused(body.error?.message ?? `The daemon responded with status ${response.status}.`);
  }
  return body;
}
