/** Types that follow from the protocol's table. */

import type { Methods, Notifications, QuestionAnswered, Resolved, ServerRequests } from "./protocol.js";

/** A method that `Client.call` takes. The handshake is the client's own business. */
export type Method = Exclude<keyof Methods, "initialize">;

/**
 * The params of a method. `threadId` must be given where the protocol lets it out: "the thread of this connection"
 * means little to a client that makes new connections by itself.
 */
export type Params<M extends Method> = "threadId" extends keyof Methods[M]["params"]
  ? string extends keyof Methods[M]["params"]
    ? Methods[M]["params"]
    : // Where it may be null, leaving it out means every thread, as in `thread/search`.
      Methods[M]["params"] extends { threadId?: infer T }
      ? null extends T
        ? Methods[M]["params"]
        : Methods[M]["params"] & { threadId: string }
      : never
  : Methods[M]["params"];

/** The result of a method. */
export type Result<M extends Method> = Methods[M]["result"];

/** What `Client.call` wants after the method: no params where none are needed. */
export type Args<M extends Method> =
  Record<string, never> extends Params<M>
    ? [params?: Params<M>, options?: CallOptions]
    : [params: Params<M>, options?: CallOptions];

/** How one request is made. */
export interface CallOptions {
  /** Takes the request back: the answer is not waited for any longer. */
  signal?: AbortSignal;
  /** How long the answer may take, in milliseconds. Without it, as long as the connection lasts. */
  timeoutMs?: number;
}

/** A notification's name. */
export type NotificationMethod = keyof Notifications;

/** What the daemon may ask. */
export type QuestionMethod = keyof ServerRequests;

/** What is no event of a thread: it is about an answer of this client's, the list of threads, or who else is there. */
type Aside = "serverRequest/rejected" | "thread/subscribers/changed" | `thread/list/${string}`;

/** What is about a thread's events. */
type EventMethod = Exclude<NotificationMethod, Aside>;

/** One event of a thread: a notification, or a question as everyone sees it. */
export type ThreadEvent =
  | { [M in EventMethod]: { method: M; params: Notifications[M] } }[EventMethod]
  | { [M in QuestionMethod]: { method: M; params: ServerRequests[M]["params"] } }[QuestionMethod];

/** An answer. Nothing means that this client leaves it open: somebody else may answer, or this one by `item/approve`. */
export type Answer = QuestionAnswered | undefined | void;

/** Beside a question. */
export interface Asked {
  /** Aborted once the question needs no answer any more; its `reason` is a {@link QuestionOver}. */
  signal: AbortSignal;
}

/** Why a question needs no answer any more. */
export interface QuestionOver {
  /** How it was answered and by whom, if that is known. */
  resolved?: Resolved;
}

/** Answers questions. */
export type QuestionHandler<M extends QuestionMethod> = (
  params: ServerRequests[M]["params"],
  asked: Asked,
) => Answer | Promise<Answer>;
