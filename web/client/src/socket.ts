/** The interface of a WebSocket implementation, and how it is opened. */

import { AcpdError } from "./errors.js";

/** The used part of a WebSocket; implemented by browsers, `ws`, and Node from version 22. */
export interface Socket {
  send(text: string): void;
  close(code?: number, reason?: string): void;
  /** `ws` only: closes the connection immediately. */
  terminate?(): void;
  /** `ws` only: reports the daemon's pings. */
  on?(type: "ping", listener: () => void): unknown;
  addEventListener(type: "open", listener: () => void): void;
  addEventListener(type: "message", listener: (event: { data: unknown }) => void): void;
  addEventListener(type: "close", listener: (event: { code: number; reason: string }) => void): void;
  addEventListener(type: "error", listener: (event: { message?: string }) => void): void;
}

/** Creates a WebSocket. Implementations outside of browsers accept headers. */
export type SocketConstructor = new (url: string, options?: { headers: Record<string, string> }) => Socket;

/** The client's credentials: one of the two, or neither if the caller's own `WebSocket` authenticates. */
export interface Credentials {
  /** The access token, sent as a header. Browsers cannot send it. */
  token?: string | undefined;
  /** Fetches a ticket for one connection. */
  ticket?: (() => Promise<string>) | undefined;
}

/** Returns the address of the daemon's WebSocket: replaces `http` by `ws`, and adds `/ws` if it is missing. */
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

/** Returns the constructor to use; throws a descriptive error if there is none. */
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

/** Creates a socket, which starts to connect. */
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

/** Converts a socket's error. `ws` reports the status of a refused upgrade; browsers hide it. */
export function refusal(message: string | undefined): AcpdError | undefined {
  const status = /unexpected server response: (401|403)\b/i.exec(message ?? "")?.[1];
  return status === undefined
    ? undefined
    : new AcpdError("unauthenticated", `the daemon does not let this client in (${status}): check the token`);
}

/** Returns the sentence for a connection that failed. Browsers hide the reason, and only users of `ws` configure an address. */
export function unreachable(message: string | undefined): string {
  return message
    ? `the daemon cannot be reached (${message}): is it running, and is the address right?`
    : "the daemon cannot be reached";
}
