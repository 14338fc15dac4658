/** Types derived from the generated protocol types. */

import type { Methods, Notifications, QuestionAnswered, Resolved, ServerRequests } from "./protocol.js";

/** A method that `Client.call` accepts. The client itself performs the handshake. */
export type Method = Exclude<keyof Methods, "initialize">;

/**
 * The params of a method. `threadId` is required where the protocol makes it optional: "the thread of this connection"
 * has little meaning for a client that reconnects automatically.
 */
export type Params<M extends Method> = "threadId" extends keyof Methods[M]["params"]
  ? string extends keyof Methods[M]["params"]
    ? Methods[M]["params"]
    : // Where it may be null, omitting it means all threads, as in `thread/search`.
      Methods[M]["params"] extends { threadId?: infer T }
      ? null extends T
        ? Methods[M]["params"]
        : Methods[M]["params"] & { threadId: string }
      : never
  : Methods[M]["params"];

/** The result of a method. */
export type Result<M extends Method> = Methods[M]["result"];

/** The arguments of `Client.call` after the method: params are optional if none are required. */
export type Args<M extends Method> =
  Record<string, never> extends Params<M>
    ? [params?: Params<M>, options?: CallOptions]
    : [params: Params<M>, options?: CallOptions];

/** Options of one request. */
export interface CallOptions {
  /** Aborts the request: the client no longer waits for the response. */
  signal?: AbortSignal;
  /** Timeout of the response, in milliseconds. Without it, the request waits as long as the connection lasts. */
  timeoutMs?: number;
}

/** A notification's name. */
export type NotificationMethod = keyof Notifications;

/** The method of a question. */
export type QuestionMethod = keyof ServerRequests;

/**
 * Notifications that are not events of a thread: about this client's answer, the list of threads, the subscribers, or
 * whether the thread's log can be written.
 */
type Aside =
  | "serverRequest/rejected"
  | "thread/subscribers/changed"
  | "thread/log/changed"
  | `thread/list/${string}`;

/** Notifications that are events of a thread. */
type EventMethod = Exclude<NotificationMethod, Aside>;

/** One event of a thread: a notification, or a question as all clients receive it. */
export type ThreadEvent =
  | { [M in EventMethod]: { method: M; params: Notifications[M] } }[EventMethod]
  | { [M in QuestionMethod]: { method: M; params: ServerRequests[M]["params"] } }[QuestionMethod];

/** An answer. `undefined` leaves the question open: another client may answer, or this one by `item/approve`. */
export type Answer = QuestionAnswered | undefined | void;

/** Additional arguments of a question's handler. */
export interface Asked {
  /** Aborted once the question is over; its `reason` is a {@link QuestionOver}. */
  signal: AbortSignal;
}

/** The reason why a question is over. */
export interface QuestionOver {
  /** The answer and its author, if known. */
  resolved?: Resolved;
}

/** Handles questions of a method. */
export type QuestionHandler<M extends QuestionMethod> = (
  params: ServerRequests[M]["params"],
  asked: Asked,
) => Answer | Promise<Answer>;
