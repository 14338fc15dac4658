/**
 * A thread that is looked at: follows it, folds its events, and publishes the state at most once a frame, however fast
 * events come. Also what a person can do in it.
 */

import type { AcpObject, Client, ConfigValue, Json, QuestionAnswered, Subscriber, Subscription, ThreadEvent } from "@acpd/client";
import { signal } from "@preact/signals";

import type { Delivery, ThreadActions } from "../state/actions.ts";
import { fold, learn, openThread, OutOfOrder, prependOlder, remind, withOthers } from "../state/fold.ts";
import { layOut } from "../state/rows.ts";
import type { Question, Row, ThreadState } from "../state/thread.ts";
import { newId } from "./new-id.ts";
import { answerHeld, onQuestion } from "./questions.ts";
import { readLog } from "./read-log.ts";

/** Turns that a thread is opened with, and that come with each page before them. */
const FIRST_PAGE = 10;
const PAGE = 30;
/** The state is published at most this often, in milliseconds: twice as fast as anyone reads, and cheap. */
const FRAME_MS = 50;
/** While a message is longer than this, in UTF-16 units, drawing it costs more, and it is published less often by as much. */
const LONG_TEXT = 25_000;
/** And at least this often, in milliseconds. */
const SLOW_MS = 500;
/** How long the thread is left to be drawn before its log is looked at, in milliseconds. */
const LEARN_MS = 250;
/** How soon questions that are open must have come, in milliseconds, before they are looked for. */
const LOOK_MS = 700;
/** Hidden pages are not drawn; what they show when they are seen must be there all the same. */
const HIDDEN_MS = 500;

/** What agents said when they were started, by their names: the same one says the same. */
const initializes = new Map<string, Json>();

export interface Shown {
  readonly thread: ThreadState;
  readonly rows: readonly Row[];
}

export class OpenThread implements ThreadActions {
  /** What is shown; none until the daemon has answered. */
  readonly shown = signal<Shown | undefined>(undefined);
  /** Why there is nothing to be shown. */
  readonly failed = signal<Error | undefined>(undefined);
  /** Counts what this person has sent: the conversation goes to its end. */
  readonly sent = signal(0);
  /** Whether older turns are on their way. */
  readonly loading = signal(false);

  #state: ThreadState | undefined;
  #early: ThreadEvent[] = [];
  #subscription: Subscription | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastAt = 0;
  #closed = false;
  /** What was sent from here, by the turn's own id. */
  readonly #sentWords = new Map<string, string>();
  #offQuestions: (() => void) | undefined;
  #lookTimer: ReturnType<typeof setTimeout> | undefined;
  #learnTimer: ReturnType<typeof setTimeout> | undefined;
  /** Who else is there may be told before what is there. */
  #others: readonly Subscriber[] = [];
  readonly #offOthers: () => void;
  readonly #over = new AbortController();
  readonly #rows = layOut();

  constructor(
    private readonly client: Client,
    readonly threadId: string,
  ) {
    this.#offOthers = client.on("thread/subscribers/changed", (told) => {
      if (told.threadId === threadId) {
        this.#others = told.others;
        if (this.#state) {
          this.#state = withOthers(this.#state, told.others);
          this.#publishSoon();
        }
      }
    });
    this.#follow();
  }

  close(): void {
    this.#closed = true;
    this.#over.abort();
    this.#offQuestions?.();
    this.#offOthers();
    clearTimeout(this.#lookTimer);
    clearTimeout(this.#learnTimer);
    clearTimeout(this.#timer);
    this.#subscription?.close();
  }

  #follow(): void {
    this.#state = undefined;
    this.#early = [];
    const subscription = this.client.follow(this.threadId, {
      limit: FIRST_PAGE,
      onEvent: (event) => this.#event(event),
      onEnd: (error) => {
        if (error && !this.#closed) {
          this.failed.value = error;
        }
      },
    });
    this.#subscription = subscription;
    subscription.resumed.then(
      (resumed) => {
        if (this.#closed || this.#subscription !== subscription) {
          return;
        }
        this.#state = withOthers(openThread(resumed), this.#others);
        const early = this.#early;
        this.#early = [];
        for (const event of early) {
          this.#fold(event);
        }
        this.#publish();
        this.#offQuestions ??= onQuestion(this.client, (question) => this.#asked(question));
        this.#learnTimer = setTimeout(() => void this.#learn(), LEARN_MS);
        this.#lookTimer = setTimeout(() => void this.#lookForQuestions(), LOOK_MS);
      },
      // `onEnd` has said so.
      () => {},
    );
  }

  /** A question was put to this page. It may be older than what the thread was opened with. */
  #asked({ method, params }: Question): void {
    const { threadId, requestId, seq } = params;
    if (threadId !== this.threadId || !this.#state || seq > this.#state.seq) {
      // Its event is yet to come, and brings it.
      return;
    }
    if (this.#state.head.pendingRequestIds.includes(requestId)) {
      this.#fold({ method, params } as ThreadEvent);
      this.#publishSoon();
    }
  }

  /** Who may not answer is not asked, and yet is to see what is open: it stands in the log. */
  async #lookForQuestions(): Promise<void> {
    const missing = new Set(this.#state?.head.pendingRequestIds);
    for (const { params } of this.#state?.questions ?? []) {
      missing.delete(params.requestId);
    }
    if (missing.size === 0) {
      return;
    }
    const look = (event: ThreadEvent) => {
      if ("requestId" in event.params && "title" in event.params && missing.delete(event.params.requestId)) {
        this.#asked(event as Question);
      }
      return missing.size > 0;
    };
    await readLog(this.threadId, look, this.#over.signal).catch(() => {});
  }

  /** What the agent can take stands in the log, where it was started; pages do not have it. */
  async #learn(): Promise<void> {
    const agent = this.#state!.head.agentType;
    const keep = (initialize: Json) => {
      initializes.set(agent, initialize);
      if (this.#state) {
        this.#state = learn(this.#state, initialize);
        this.#publishSoon();
      }
    };
    const known = initializes.get(agent);
    if (known !== undefined) {
      keep(known);
      return;
    }
    const look = (event: ThreadEvent) => {
      const initialize = event.method === "thread/updated" ? event.params.agent?.initialize : undefined;
      if (initialize != null) {
        keep(initialize);
      }
      return initialize == null;
    };
    await readLog(this.threadId, look, this.#over.signal).catch(() => {});
  }

  #event(event: ThreadEvent): void {
    if (this.#state) {
      this.#fold(event);
      this.#publishSoon();
    } else {
      this.#early.push(event);
    }
  }

  #fold(event: ThreadEvent): void {
    try {
      this.#state = fold(this.#state!, event);
      const turn = event.method === "turn/queued" ? event.params.turn : undefined;
      const words = this.#sentWords.get(turn?.clientTurnId ?? "");
      if (turn?.id && words) {
        this.#state = remind(this.#state, turn.id, words);
      }
    } catch (error) {
      if (!(error instanceof OutOfOrder)) {
        throw error;
      }
      // What is there cannot be trusted any more: it is asked for once more.
      console.warn(error);
      this.#subscription?.close();
      this.#follow();
    }
  }

  #publishSoon(): void {
    if (this.#timer === undefined) {
      const since = performance.now() - this.#lastAt;
      const wait = document.hidden ? HIDDEN_MS : Math.max(0, frameMs(this.#state!) - since);
      this.#timer = setTimeout(() => this.#publish(), wait);
    }
  }

  #publish(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const thread = this.#state;
    if (thread && !this.#closed) {
      this.shown.value = { thread, rows: this.#rows(thread) };
      this.#lastAt = performance.now();
    }
  }

  async send(text: string, blocks: readonly AcpObject[], delivery: Delivery): Promise<void> {
    const { threadId } = this;
    const input = blocks.length > 0 ? [...blocks] : undefined;
    this.sent.value++;
    if (delivery === "steer" && this.#state?.head.turnId != null) {
      const content: AcpObject[] = [...(text ? [{ type: "text", text }] : []), ...blocks];
      await this.client.call("turn/steer", { threadId, content });
    } else {
      // The same id again is the same turn, so that a connection that breaks cannot double it.
      const clientTurnId = newId();
      this.#sentWords.set(clientTurnId, text);
      const prompt = { threadId, clientTurnId, text: text || undefined, input };
      await this.#twice(() => this.client.call("turn/start", prompt));
    }
    this.sent.value++;
  }

  async interrupt(turnId?: string): Promise<void> {
    await this.client.call("turn/interrupt", { threadId: this.threadId, turnId });
  }

  async answer(question: Question, answer: QuestionAnswered): Promise<void> {
    const { requestId } = question.params;
    const { answers, dismissed, optionId, optionKind, scope, decision } = answer;
    if (question.method !== "item/tool/requestUserInput") {
      const approved = decision?.startsWith("accept");
      await this.client.call("item/approve", { requestId, optionId, optionKind, scope, approved });
    } else if (!answerHeld(this.client, requestId, answer)) {
      const declined = dismissed || (decision != null && decision !== "accept");
      await this.client.call("item/answer", declined ? { requestId, dismissed: true } : { requestId, answers: answers ?? {} });
    }
  }

  async setMode(modeId: string): Promise<void> {
    await this.client.call("thread/mode/set", { threadId: this.threadId, modeId });
  }

  async setConfig(configId: string, value: ConfigValue): Promise<void> {
    await this.client.call("thread/config/set", { threadId: this.threadId, configId, value });
  }

  async loadOlder(): Promise<void> {
    const cursor = this.#state?.older;
    if (cursor === undefined || this.loading.peek()) {
      return;
    }
    this.loading.value = true;
    try {
      const { threadId } = this;
      const { thread } = await this.client.call("thread/read", { threadId, includeTurns: true, cursor, limit: PAGE });
      // It may have been opened anew meanwhile, with another beginning.
      if (this.#state?.older === cursor) {
        this.#state = prependOlder(this.#state, thread);
        this.#publish();
      }
    } finally {
      this.loading.value = false;
    }
  }

  async fork(turnId: string): Promise<void> {
    const { thread } = await this.client.call("thread/fork", {
      threadId: this.threadId,
      turnId,
      name: this.#state?.head.name,
    });
    await this.client.call("thread/unsubscribe", { threadId: thread.id }).catch(() => {});
    this.onForked(thread.id);
  }

  /** Where to go with a fork; set by who shows it. */
  onForked: (threadId: string) => void = () => {};

  async rollback(turnId: string): Promise<void> {
    await this.client.call("thread/rollback", { threadId: this.threadId, turnId });
  }

  /** Loads older turns until an item is there, within reason. */
  async seek(itemId: string): Promise<void> {
    for (let pages = 0; pages < 100; pages++) {
      if (this.#state?.turns.some(({ items }) => items.some((item) => item.itemId === itemId))) {
        return;
      }
      if (this.#state && this.#state.older === undefined) {
        return;
      }
      await this.loadOlder().catch(() => {});
      await new Promise((next) => setTimeout(next, this.#state ? 0 : 50));
      if (this.#closed || this.failed.peek()) {
        return;
      }
    }
  }

  async #twice<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if ((error as { code?: string }).code !== "disconnected") {
        throw error;
      }
      await this.client.ready();
      return call();
    }
  }
}

/** How often a thread is published, in milliseconds: what grows at its end costs the more the longer it is. */
export function frameMs({ turns }: Pick<ThreadState, "turns">): number {
  const last = turns.at(-1)?.items.at(-1);
  const length = last !== undefined && "text" in last ? (last.text?.length ?? 0) : 0;
  return Math.min(SLOW_MS, FRAME_MS * Math.max(1, length / LONG_TEXT));
}
