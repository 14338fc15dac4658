/** The WebSocket that somebody else implements, and how it is opened. */

import { AcpdError } from "./errors.js";

/** As much of a WebSocket as is needed: the browsers', `ws`, and Node's own from version 22 on have it. */
export interface Socket {
  send(text: string): void;
  close(code?: number, reason?: string): void;
  /** `ws` alone: ends the connection at once. */
  terminate?(): void;
  /** `ws` alone: tells of the daemon's pings. */
  on?(type: "ping", listener: () => void): unknown;
  addEventListener(type: "open", listener: () => void): void;
  addEventListener(type: "message", listener: (event: { data: unknown }) => void): void;
  addEventListener(type: "close", listener: (event: { code: number; reason: string }) => void): void;
  addEventListener(type: "error", listener: (event: { message?: string }) => void): void;
}

/** Makes a WebSocket. Those outside of browsers take headers. */
export type SocketConstructor = new (url: string, options?: { headers: Record<string, string> }) => Socket;

/** How a client shows who it is: one of the two, or neither where its own `WebSocket` does. */
export interface Credentials {
  /** The access token, sent as a header. Not in browsers, which cannot send one. */
  token?: string | undefined;
  /** Fetches a ticket that is good for one connection. */
  ticket?: (() => Promise<string>) | undefined;
}

/** The address of the daemon's socket: `http` stands for `ws`, and `/ws` may be left out. */
export function socketAddress(url: string): string {
  const page = (globalThis as { location?: { href: string } }).location?.href;
  const address = new URL(url, page);
  address.protocol = address.protocol.replace(/^http/, "ws");
  if (address.protocol !== "ws:" && address.protocol !== "wss:") {
    throw new TypeError(`acpd is reached by ws:, wss:, http: or https:, not by ${address.protocol}`);
  }
  if (address.pathname === "/") {
    address.pathname = "/ws";
  }
  address.hash = "";
  return address.href;
}

/** The constructor to use; a sentence for those who have none. */
export function socketConstructor(given: SocketConstructor | undefined, token: string | undefined): SocketConstructor {
  if (given) {
    return given;
  }
  const { WebSocket: own, document } = globalThis as { WebSocket?: SocketConstructor; document?: unknown };
  if (!own) {
    throw new TypeError('there is no WebSocket here: pass one, such as that of the package "ws"');
  }
  if (token !== undefined && document !== undefined) {
    throw new TypeError("a browser cannot send the token: pass `ticket`");
  }
  return own;
}

/** A socket that begins to connect. */
export async function openSocket(
  make: SocketConstructor,
  address: string,
  { token, ticket }: Credentials,
): Promise<Socket> {
  const url = new URL(address);
  if (ticket) {
    url.searchParams.set("ticket", await ticket());
  }
  return token === undefined
    ? new make(url.href)
    : new make(url.href, { headers: { authorization: `Bearer ${token}` } });
}

/** What a socket's error means. `ws` tells the status of a refused upgrade; browsers keep it to themselves. */
export function refusal(message: string | undefined): AcpdError | undefined {
  const status = /unexpected server response: (401|403)\b/i.exec(message ?? "")?.[1];
  return status === undefined
    ? undefined
    : new AcpdError("unauthenticated", `the daemon does not let this client in (${status})`);
}
