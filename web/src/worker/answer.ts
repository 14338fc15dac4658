/**
 * Answers a question through the app protocol, on a connection of its own for one request. The page's client, which follows
 * threads and reconnects, would double the worker's code.
 */

import { type Error as RpcError, type Initialized, PROTOCOL_VERSION } from "@acpd/client";

import { CLIENT_INFO } from "../connection/client-info.ts";
import { protocolsOf, withKey } from "../connection/key-headers.ts";
import type { Answer } from "./notification.ts";

/** The answer was not accepted; the message is a sentence for the user. */
export class NotAnswered extends Error {
  override readonly name = "NotAnswered";
}

/** Time for the whole exchange, in milliseconds. Browsers end a worker that takes longer. */
const PATIENCE_MS = 15_000;
const INITIALIZE = 1;
const APPROVE = 2;

/** Sends an answer; resolves once the daemon has accepted it, and rejects with {@link NotAnswered}. */
export async function approve(pageKey: string, answer: Answer): Promise<void> {
  const socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/ws`, protocolsOf(pageKey));
  const over = new AbortController();
  try {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new NotAnswered("Couldn’t answer: the daemon did not respond in time.")), PATIENCE_MS);
      over.signal.addEventListener("abort", () => clearTimeout(timer));
      exchange(socket, answer, over.signal, resolve, reject);
      const ended = () => void reasonOf(pageKey).then((why) => reject(new NotAnswered(why)));
      socket.addEventListener("close", ended, { signal: over.signal });
    });
  } finally {
    over.abort();
    socket.close();
  }
}

function exchange(
  socket: WebSocket,
  answer: Answer,
  signal: AbortSignal,
  resolve: () => void,
  reject: (error: NotAnswered) => void,
): void {
  const send = (message: object) => socket.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
  const greet = () => send({ id: INITIALIZE, method: "initialize", params: { clientInfo: CLIENT_INFO, capabilities: {} } });
  const next = ({ data }: MessageEvent) => {
    const { id, result, error } = read(data);
    if (error) {
      reject(refused(error));
    } else if (id === INITIALIZE) {
      if ((result as Initialized | undefined)?.protocolVersion !== PROTOCOL_VERSION) {
        reject(new NotAnswered("Couldn’t answer: acpd was updated. Open it to answer."));
        return;
      }
      send({ method: "initialized" });
      send({ id: APPROVE, method: "item/approve", params: { ...answer, approved: answer.optionKind.startsWith("allow") } });
    } else if (id === APPROVE) {
      resolve();
    }
  };
  socket.addEventListener("open", greet, { signal });
  socket.addEventListener("message", next, { signal });
}

function refused({ message, data }: RpcError): NotAnswered {
  const isLate = ["already_resolved", "not_found"].includes(data?.code ?? "");
  return new NotAnswered(isLate ? "Already answered." : `Couldn’t answer: ${message}`);
}

/** Finds out why a connection ended, which browsers do not report. */
async function reasonOf(pageKey: string): Promise<string> {
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const { status } = await fetch("/api/session", withKey(pageKey, { signal, headers: { accept: "application/json" } }));
    return status === 401 || status === 403
      ? "Couldn’t answer: your session has ended. Open acpd to sign in again."
      : "Couldn’t answer: the connection to the daemon broke. Open acpd to see whether the answer arrived.";
  } catch {
    return "Couldn’t answer: the daemon is unreachable.";
  }
}

interface Message {
  readonly id?: unknown;
  readonly result?: unknown;
  readonly error?: RpcError;
}

/** Reads a message. What is not a response is ignored: the daemon may also send notifications. */
function read(data: unknown): Message {
  try {
    const message: unknown = JSON.parse(String(data));
    return typeof message === "object" && message !== null && !("method" in message) ? message : {};
  } catch {
    return {};
  }
}
