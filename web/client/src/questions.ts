/**
 * Open questions and their handlers. In: questions (repeated after a reconnect), and their resolutions. Out: answers. A
 * handler receives each question once. Its answer is stored until the daemon has resolved the question, so that a lost
 * answer is sent again.
 */

import type { QuestionAnswered, Rejected, Resolved, ServerRequests, Thread } from "./protocol.js";
import { AcpdError } from "./errors.js";
import type { QuestionHandler, QuestionMethod, QuestionOver } from "./types.js";

interface Open {
  method: QuestionMethod;
  params: ServerRequests[QuestionMethod]["params"];
  over: AbortController;
  /** Whether a handler has received it. */
  handled: boolean;
  answer?: QuestionAnswered;
}

type AnyHandler = QuestionHandler<QuestionMethod>;

/** The open questions of this client. */
export class Questions {
  readonly #open = new Map<string, Open>();
  readonly #handlers = new Map<QuestionMethod, AnyHandler>();

  constructor(
    /** Sends an answer, if there is a connection. */
    private readonly send: (requestId: string, answer: QuestionAnswered) => void,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Sets the handler of a method, also for questions that are already open. Returns a function that removes it. */
  handle<M extends QuestionMethod>(method: M, handler: QuestionHandler<M>): () => void {
    const any = handler as unknown as AnyHandler;
    this.#handlers.set(method, any);
    for (const [requestId, open] of [...this.#open]) {
      if (open.method === method) {
        void this.#put(requestId, open);
      }
    }
    return () => {
      if (this.#handlers.get(method) === any) {
        this.#handlers.delete(method);
      }
    };
  }

  /** Handles a question, which may be a repetition. */
  asked(method: QuestionMethod, params: ServerRequests[QuestionMethod]["params"]): void {
    const known = this.#open.get(params.requestId);
    if (!known) {
      const open = { method, params, over: new AbortController(), handled: false };
      this.#open.set(params.requestId, open);
      void this.#put(params.requestId, open);
    } else if (known.answer) {
      this.send(params.requestId, known.answer);
    }
  }

  /** Handles the resolution of a question. */
  resolved(resolved: Resolved): void {
    this.#end(resolved.requestId, { resolved });
  }

  /** Handles the rejection of this client's answer. */
  rejected({ requestId, error }: Rejected): void {
    const failure = AcpdError.answered(error);
    const open = this.#open.get(requestId);
    if (failure.code === "already_resolved" || failure.code === "not_found") {
      // Another client answered first. The accepted answer arrives as an event.
      this.#end(requestId, {});
      return;
    }
    // The question is still open, and another answer is possible.
    delete open?.answer;
    this.onError(failure);
  }

  /** Ends the questions of a thread that its description no longer lists as pending. */
  reconcile(thread: Thread): void {
    for (const [requestId, { params }] of [...this.#open]) {
      const known = params.threadId === thread.id && params.seq <= thread.latestSeq;
      if (known && !thread.pendingRequestIds.includes(requestId)) {
        this.#end(requestId, {});
      }
    }
  }

  /** Drops questions of unsubscribed threads: their resolutions would not arrive. */
  keep(isFollowed: (threadId: string) => boolean): void {
    for (const [requestId, { params }] of [...this.#open]) {
      if (!isFollowed(params.threadId)) {
        this.#end(requestId, {});
      }
    }
  }

  async #put(requestId: string, open: Open): Promise<void> {
    const handler = this.#handlers.get(open.method);
    if (!handler || open.handled) {
      return;
    }
    open.handled = true;
    try {
      const answer = await handler(open.params, { signal: open.over.signal });
      if (answer && this.#open.get(requestId) === open) {
        open.answer = answer;
        this.send(requestId, answer);
      }
    } catch (error) {
      // A failed handler has decided nothing: the question stays open.
      if (!open.over.signal.aborted) {
        this.onError(error);
      }
    }
  }

  #end(requestId: string, why: QuestionOver): void {
    const open = this.#open.get(requestId);
    if (open) {
      this.#open.delete(requestId);
      open.over.abort(why);
    }
  }
}
