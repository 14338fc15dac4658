/** One-time tickets, for clients that cannot send the token with a WebSocket. */

import { AcpdError } from "./errors.js";

/** Where and how to fetch tickets. */
export interface TicketOptions {
  /** The daemon's address, as for `connect`. */
  url: string;
  /** The access token; without it, the credentials that `fetch` adds. */
  token?: string;
  /** Replaces the global `fetch`. */
  fetch?: typeof globalThis.fetch;
}

/** Fetches a ticket for one connection: `connect({ ticket: () => fetchTicket(…) })`. */
export async function fetchTicket({ url, token, fetch = globalThis.fetch }: TicketOptions): Promise<string> {
  const page = (globalThis as { location?: { href: string } }).location?.href;
  const address = new URL(url, page);
  address.protocol = address.protocol.replace(/^ws/, "http");
  address.pathname = "/api/tickets";
  address.search = "";
  const response = await fetch(address.href, {
    method: "POST",
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  });
  if (response.status === 401 || response.status === 403) {
    throw new AcpdError("unauthenticated", `the daemon gives this client no ticket (${response.status})`);
  }
  const body: unknown = response.ok ? await response.json() : undefined;
  const ticket = (body as { ticket?: unknown } | undefined)?.ticket;
  if (typeof ticket !== "string") {
    throw AcpdError.disconnected(`the daemon gave no ticket (${response.status})`);
  }
  return ticket;
}
