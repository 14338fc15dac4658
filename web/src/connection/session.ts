/**
 * Who this browser is to the daemon. What is shown for it, a token or a ticket, goes into a request's body once and is
 * kept nowhere here. What comes of it are a cookie, which no script can read, and the key of this page.
 */

import type { Role } from "@acpd/client";

import { fetchAsPage, keepPageKey } from "./page-key.ts";

export interface Session {
  principal: string;
  role: Role;
  /** Milliseconds since the epoch; none if it only ends by not being used. */
  expiresAt?: number;
}

/** The daemon did not let this browser in; the message is a sentence for the person. */
export class Refused extends Error {
  override readonly name = "Refused";
}

/** Who one is; nothing if nobody. Fails if the daemon cannot be reached. */
export async function whoAmI(): Promise<Session | undefined> {
  const response = await fetchAsPage("/api/session", { headers: { accept: "application/json" } });
  if (response.status === 401 || response.status === 403) {
    return undefined;
  }
  return read(response);
}

/** Begins a session with a token, or with a ticket that works once. */
export async function signIn(shown: { token: string } | { ticket: string }): Promise<Session> {
  let response: Response;
  try {
    response = await fetch("/api/session", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(shown),
    });
  } catch {
    throw new Refused("The daemon cannot be reached.");
  }
  if (response.status === 429) {
    throw new Refused("Too many wrong tokens came from this address. Wait a little.");
  }
  if (response.status === 401) {
    throw new Refused(
      "ticket" in shown
        ? "This link was used already or is too old. Ask for a new one, or sign in with a token."
        : "The daemon does not know this token.",
    );
  }
  const { pageKey, ...session } = await read(response);
  keepPageKey(pageKey);
  // What was answered to the login need not say who one is.
  return session.principal === undefined ? ((await whoAmI()) ?? session) : session;
}

/** Ends the session, and every connection that came of it. */
export async function signOut(): Promise<void> {
  const ended = fetchAsPage("/api/session", { method: "DELETE" });
  // Also if the daemon cannot be told.
  keepPageKey();
  await ended;
}

/** What a link brought after `#`, which reaches no server and no log. It is taken out of the address at once. */
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

async function read(response: Response): Promise<Session & { pageKey?: string }> {
  const body = (await response.json().catch(() => ({}))) as Session & { error?: { message?: string } };
  if (!response.ok) {
    throw new Refused(body.error?.message ?? `The daemon answered ${response.status}.`);
  }
  return body;
}
