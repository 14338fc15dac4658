/**
 * Questions that are open, and who answers them. Comes in: questions (again and again, if connections break), and that
 * they are resolved. Goes out: answers. A question is put to its handler once, whatever happens, and its answer is kept
 * until the daemon has said that it is resolved, so that an answer that was lost on its way is sent again.
 */

import type { QuestionAnswered, Rejected, Resolved, ServerRequests, Thread } from "./protocol.js";
import { AcpdError } from "./errors.js";
import type { QuestionHandler, QuestionMethod, QuestionOver } from "./types.js";

interface Open {
  method: QuestionMethod;
  params: ServerRequests[QuestionMethod]["params"];
  over: AbortController;
  /** Whether a handler has it, or had it. */
  handled: boolean;
  answer?: QuestionAnswered;
}

type AnyHandler = QuestionHandler<QuestionMethod>;

/** The questions that this client was asked. */
export class Questions {
  readonly #open = new Map<string, Open>();
  readonly #handlers = new Map<QuestionMethod, AnyHandler>();

  constructor(
    /** Sends an answer, if there is a connection. */
    private readonly send: (requestId: string, answer: QuestionAnswered) => void,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Has questions of a method answered from now on, and those that wait already. */
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

  /** The daemon asks, perhaps again. */
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

  /** A question was answered by somebody, or needs no answer any more. */
  resolved(resolved: Resolved): void {
    this.#end(resolved.requestId, { resolved });
  }

  /** An answer of this client was not taken. */
  rejected({ requestId, error }: Rejected): void {
    const failure = AcpdError.answered(error);
    const open = this.#open.get(requestId);
    if (failure.code === "already_resolved" || failure.code === "not_found") {
      // Somebody was faster. What the answer was comes as an event.
      this.#end(requestId, {});
      return;
    }
    // It is still open, and may be answered otherwise.
    delete open?.answer;
    this.onError(failure);
  }

  /** A thread as the daemon describes it: its other questions are resolved. */
  reconcile(thread: Thread): void {
    for (const [requestId, { params }] of [...this.#open]) {
      const known = params.threadId === thread.id && params.seq <= thread.latestSeq;
      if (known && !thread.pendingRequestIds.includes(requestId)) {
        this.#end(requestId, {});
      }
    }
  }

  /** Nobody tells any longer what becomes of the other threads' questions: they are forgotten. */
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
      // A handler that fails has decided nothing: the question stays open.
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
