/**
 * Answers a question through the app protocol, on a connection of its own for one request. The page's client, which follows
 * threads and reconnects, would double the worker's code.
 */

import { type Error as RpcError, type Initialized, PROTOCOL_VERSION } from "@acpd/client";

import { CLIENT_INFO } from "../connection/client-info.ts";
import { protocolsOf, withKey } from "../connection/key-headers.ts";
import type { ButtonAnswer } from "./notification.ts";

/** The answer was not accepted; the message is a sentence for the user. */
export class NotAnswered extends Error {
  override readonly name = "NotAnswered";
}

/** Time for the whole exchange, in milliseconds. Browsers end a worker that takes longer. */
const PATIENCE_MS = 15_000;
const INITIALIZE = 1;
const APPROVE = 2;

/** Ends the sentences about answers that were sent: the daemon may have accepted them. */
const UNCLEAR = "Open acpd to see whether the answer arrived.";

/** Sends an answer; resolves once the daemon has accepted it, and rejects with {@link NotAnswered}. */
export async function approve(pageKey: string, answer: ButtonAnswer): Promise<void> {
  const socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/ws`, protocolsOf(pageKey));
  const over = new AbortController();
  let isSent = false;
  try {
    await new Promise<void>((resolve, reject) => {
      const late = () =>
        isSent ? `The daemon did not confirm the answer in time. ${UNCLEAR}` : "Couldn’t answer: the daemon did not respond in time.";
      const timer = setTimeout(() => reject(new NotAnswered(late())), PATIENCE_MS);
      over.signal.addEventListener("abort", () => clearTimeout(timer));
      exchange(socket, answer, over.signal, { sending: () => (isSent = true), accepted: resolve, failed: reject });
      const ended = () => void reasonOf(pageKey, isSent).then((why) => reject(new NotAnswered(why)));
      socket.addEventListener("close", ended, { signal: over.signal });
    });
  } finally {
    over.abort();
    socket.close();
  }
}

interface Progress {
  /** Called just before the answer is sent: from then on, the daemon may accept it. */
  readonly sending: () => void;
  readonly accepted: () => void;
  readonly failed: (error: NotAnswered) => void;
}

function exchange(socket: WebSocket, answer: ButtonAnswer, signal: AbortSignal, { sending, accepted, failed }: Progress): void {
  const send = (message: object) => socket.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
  const greet = () => send({ id: INITIALIZE, method: "initialize", params: { clientInfo: CLIENT_INFO, capabilities: {} } });
  const next = ({ data }: MessageEvent) => {
    const { id, result, error } = read(data);
    if (error) {
      failed(refused(error));
    } else if (id === INITIALIZE) {
      if ((result as Initialized | undefined)?.protocolVersion !== PROTOCOL_VERSION) {
        failed(new NotAnswered("Couldn’t answer: acpd was updated. Open it to answer."));
        return;
      }
      send({ method: "initialized" });
      sending();
      send({ id: APPROVE, method: "item/approve", params: { ...answer, approved: answer.optionKind.startsWith("allow") } });
    } else if (id === APPROVE) {
      accepted();
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
async function reasonOf(pageKey: string, isSent: boolean): Promise<string> {
  const broke = `The connection broke before the daemon confirmed the answer. ${UNCLEAR}`;
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const { status } = await fetch("/api/session", withKey(pageKey, { signal, headers: { accept: "application/json" } }));
    if (status === 401 || status === 403) {
      return isSent
        ? `Your session ended before the daemon confirmed the answer. ${UNCLEAR}`
        : "Couldn’t answer: your session has ended. Open acpd to sign in again.";
    }
    return isSent ? broke : "Couldn’t answer: the connection to the daemon broke. Open acpd to answer.";
  } catch {
    return isSent ? broke : "Couldn’t answer: the daemon is unreachable.";
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
