/**
 * This browser's session at the daemon. The credentials, a token or a ticket, are sent once in a request body and not
 * stored. The daemon returns a cookie, which no script can read, and the page key.
 */

import type { Role } from "@acpd/client";

import { fetchAsPage, keepPageKey } from "./page-key.ts";

export interface Session {
  principal: string;
  role: Role;
  /** Milliseconds since the epoch; absent if only disuse ends the session. */
  expiresAt?: number;
}

/** The daemon rejected this browser; the message is a sentence for the user. */
export class Refused extends Error {
  override readonly name = "Refused";
}

/** Returns the current session; `undefined` if there is none. Rejects if the daemon is unreachable. */
export async function whoAmI(): Promise<Session | undefined> {
  const response = await fetchAsPage("/api/session", { headers: { accept: "application/json" } });
  if (response.status === 401 || response.status === 403) {
    return undefined;
  }
  return read(response);
}

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
    throw new Refused("The daemon is unreachable.");
  }
  if (response.status === 429) {
    throw new Refused("Too many failed attempts from this address. Wait a minute, then try again.");
  }
  if (response.status === 401) {
    throw new Refused(
      "ticket" in shown
        ? "This sign-in link has expired or was already used. Run acpd open again, or enter a token."
        : "Invalid token.",
    );
  }
  const { pageKey, ...session } = await read(response);
  keepPageKey(pageKey);
  // The response to the sign-in may omit the principal.
  return session.principal === undefined ? ((await whoAmI()) ?? session) : session;
}

/** Ends the session, and all connections of it. */
export async function signOut(): Promise<void> {
  const ended = fetchAsPage("/api/session", { method: "DELETE" });
  // Even if the daemon is unreachable.
  keepPageKey();
  await ended;
}

/** Creates a ticket that signs in another device, with this session's access. */
export async function makeTicket(): Promise<{ ticket: string; expiresInSecs: number }> {
  return post("/api/tickets", {});
}

/** Resolves when a ticket was used or has expired. */
export async function ticketUsed(ticket: string): Promise<void> {
  await post("/api/tickets/used", { ticket });
}

async function post<T>(path: string, body: object): Promise<T> {
  const response = await fetchAsPage(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return read(response);
}

/**
 * Reads the credentials after `#` in the link, which no server and no log receives. Removes them from the address
 * immediately.
 */
export function takeFromLink(): { token: string } | { ticket: string } | undefined {
  const params = new URLSearchParams(location.hash.slice(1));
  const ticket = params.get("ticket");
  const token = params.get("token");
  if (ticket === null && token === null) {
    return undefined;
  }
  history.replaceState(history.state, "", location.pathname + location.search);
  return ticket !== null ? { ticket } : { token: token! };
}

async function read<T = Session & { pageKey?: string }>(response: Response): Promise<T> {
  const body = (await response.json().catch(() => ({}))) as T & { error?: { message?: string } };
  if (!response.ok) {
    throw new Refused(body.error?.message ?? `The daemon responded with status ${response.status}.`);
  }
  return body;
}
