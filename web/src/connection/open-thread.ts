/**
 * The open thread: subscribes to it, folds its events, and publishes the state at a pace that leaves time to other work.
 * Also provides the user's actions in it.
 */

import {
  AcpdError, type AcpObject, type Client, type ConfigValue, type Json, type QuestionAnswered, type Subscriber, type Subscription, type ThreadEvent,
  type ThreadResumed,
} from "@acpd/client";
import { signal } from "@preact/signals";

import type { Delivery, ThreadActions } from "../state/actions.ts";
import { fold, learn, openThread, OutOfOrder, withOthers, withoutSuggestions } from "../state/fold.ts";
import { isAboutEarlier, mayHaveLanes, withLanes } from "../state/lanes.ts";
import { OlderTurns } from "../state/older-turns.ts";
import { turnBefore } from "../state/prompts.ts";
import { layOut } from "../state/rows.ts";
import type { Question, Row, ThreadState } from "../state/thread.ts";
import { newId } from "./new-id.ts";
import { Pace } from "./pace.ts";
import { answerHeld, onQuestion } from "./questions.ts";
import { findInitialize, findQuestions } from "./read-log.ts";
import { twice } from "./twice.ts";

/** Number of turns in the first page, and in each page of older turns. */
const FIRST_PAGE = 10;
const PAGE = 30;
/** Maximum number of pages of older turns that one action loads, and of times it looks for one that is still on its way. */
const LOADS = 100;
/** Time to render the thread before its log is read, in milliseconds. */
const LEARN_MS = 250;
/** Time for open questions to arrive, in milliseconds, before the log is searched for them. */
const LOOK_MS = 700;
/** Maximum number of requests for a thread that the daemon refuses for now, and the first pause between them, which doubles. */
const ATTEMPTS = 5;
const ATTEMPT_MS = 250;
/** Maximum number of missed events that are requested when the thread is opened again; beyond that, its latest turns are loaded anew. */
const MISSED = 2_000;
/** The `initialize` responses of agents, by name: the same agent sends the same response. */
const initializes = new Map<string, Json>();

export interface Shown {
  readonly thread: ThreadState;
  readonly rows: readonly Row[];
}

export class OpenThread implements ThreadActions {
  /** The published state; `undefined` until the daemon has responded. */
  readonly shown = signal<Shown | undefined>(undefined);
  /** The error that prevented opening the thread. */
  readonly failed = signal<Error | undefined>(undefined);
  /** Number of sent prompts; after each, the conversation scrolls to its end. */
  readonly sent = signal(0);
  /** Whether older turns are being loaded. */
  readonly loading = signal(false);

  #state: ThreadState | undefined;
  #early: ThreadEvent[] = [];
  #subscription: Subscription | undefined;
  /** Whether the thread is closed or suspended. */
  #closed = true;
  /** Whether the agent was started because the user writes. */
  #startsAgent = false;
  /** Whether the thread's subagents are loaded, or are on their way. */
  #hasLanes = false;
  #offQuestions: (() => void) | undefined;
  #lookTimer: ReturnType<typeof setTimeout> | undefined;
  #learnTimer: ReturnType<typeof setTimeout> | undefined;
  #attemptTimer: ReturnType<typeof setTimeout> | undefined;
  /** Other subscribers may be reported before the thread itself. */
  #others: readonly Subscriber[] = [];
  #older: OlderTurns | undefined;
  #offOthers: (() => void) | undefined;
  #over = new AbortController();
  readonly #rows = layOut();
  readonly #pace = new Pace(() => this.#publish());

  constructor(
    private readonly client: Client,
    readonly threadId: string,
  ) {
    this.#open();
  }

  /** Leaves the thread for good. */
  close(): void {
    this.#closed = true;
    this.#over.abort();
    this.#offQuestions?.();
    this.#offQuestions = undefined;
    this.#offOthers?.();
    clearTimeout(this.#lookTimer);
    clearTimeout(this.#learnTimer);
    clearTimeout(this.#attemptTimer);
    this.#pace.stop();
    this.#subscription?.close();
    this.#endLoading();
  }

  /** Leaves the thread, and keeps its state for `resume`. Returns whether there is one. */
  suspend(): boolean {
    this.close();
    // The daemon reports the other subscribers, what the agent suggests and the open questions again. A kept question may be answered
    // by then, and a press aimed at it would meet the next one.
    this.#others = [];
    this.#state &&= { ...withOthers(withoutSuggestions(this.#state), []), questions: [] };
    return this.#state !== undefined && this.#state.deleted !== true && this.failed.peek() === undefined;
  }

  /** Shows the kept state of a suspended thread, and requests the events since. */
  resume(): void {
    this.#startsAgent = false;
    // What was sent before scrolls nothing now.
    this.sent.value = 0;
    this.#open(this.#state);
    this.#publish();
  }

  /** The state, as long as the thread is suspended. */
  get kept(): ThreadState | undefined {
    return this.#closed ? this.#state : undefined;
  }

  #open(kept?: ThreadState): void {
    this.#closed = false;
    this.#over = new AbortController();
    this.#offOthers = this.client.on("thread/subscribers/changed", (told) => {
      if (told.threadId === this.threadId) {
        this.#others = told.others;
        this.#change((state) => withOthers(state, told.others));
      }
    });
    this.#follow(kept);
  }

  /** Subscribes to the thread: to what follows a kept state, or to what follows its latest turns. */
  #follow(kept?: ThreadState, attempt = 1): void {
    this.#state = kept;
    // The first page may be another one.
    this.#endLoading();
    this.#early = [];
    this.#hasLanes &&= kept !== undefined;
    const subscription = this.client.follow(this.threadId, {
      ...(kept === undefined ? { limit: FIRST_PAGE } : { after: kept.seq }),
      // Reading a thread starts nothing; sending does.
      startAgent: false,
      onEvent: (event) => this.#event(event),
      onEnd: (error) => {
        if (!error || this.#closed) {
          return;
        }
        // The client retries once the daemon has responded, and leaves the first refusal to its caller.
        if (error instanceof AcpdError && error.retryable && attempt < ATTEMPTS) {
          this.#attemptTimer = setTimeout(() => this.#follow(kept, attempt + 1), ATTEMPT_MS << (attempt - 1));
        } else {
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
        if (kept === undefined) {
          this.#begin(resumed);
        } else if (resumed.latestSeq < kept.seq || resumed.latestSeq - kept.seq > MISSED) {
          subscription.close();
          this.#follow();
          return;
        }
        this.#offQuestions ??= onQuestion(this.client, (question) => this.#asked(question));
        this.#learnTimer = setTimeout(() => void this.#learn(), LEARN_MS);
        this.#lookTimer = setTimeout(() => void this.#lookForQuestions(), LOOK_MS);
      },
      // `onEnd` has already reported it.
      () => {},
    );
  }

  /** Begins with the latest turns. */
  #begin(resumed: ThreadResumed): void {
    this.#state = withOthers(openThread(resumed), this.#others);
    const early = this.#early;
    this.#early = [];
    for (const event of early) {
      this.#fold(event);
    }
    this.#lookForLanes();
    this.#pace.now();
  }

  /** Loads the thread's subagents once, if it may have any. */
  #lookForLanes(): void {
    if (!this.#hasLanes && this.#state && mayHaveLanes(this.#state)) {
      void this.#loadLanes();
    }
  }

  async #loadLanes(): Promise<void> {
    this.#hasLanes = true;
    const subscription = this.#subscription;
    try {
      const { data } = await this.client.call("thread/lanes", { threadId: this.threadId });
      if (this.#subscription === subscription) {
        this.#change((state) => ({ ...state, lanes: withLanes(state.lanes, data) }));
      }
    } catch (error) {
      // Without it, subagents have no names until their next change. The daemon may be older than this page.
      console.warn(error);
      if (this.#subscription === subscription) this.#hasLanes = false;
    }
  }

  /** Handles a question to this page. It may be older than the first loaded turn. */
  #asked({ method, params }: Question): void {
    const { threadId, requestId, seq } = params;
    if (threadId !== this.threadId || !this.#state || seq > this.#state.seq) {
      // The question's event has not arrived yet, and will add it.
      return;
    }
    if (this.#state.head.pendingRequestIds.includes(requestId)) {
      this.#fold({ method, params } as ThreadEvent);
      this.#pace.soon();
    }
  }

  /** The daemon sends no questions to a user who may not answer. Finds open questions in the log, to show them. */
  async #lookForQuestions(): Promise<void> {
    const missing = new Set(this.#state?.head.pendingRequestIds);
    for (const { params } of this.#state?.questions ?? []) {
      missing.delete(params.requestId);
    }
    await findQuestions(this.threadId, missing, (question) => this.#asked(question), this.#over.signal);
  }

  /** Reads from the log what the response with turns does not contain. */
  async #learn(): Promise<void> {
    const head = this.#state?.head;
    if (head === undefined || this.#state?.initialize !== undefined) {
      return;
    }
    const initialize = initializes.get(head.agentType) ?? (await findInitialize(this.threadId, this.#over.signal));
    if (initialize !== undefined) {
      initializes.set(head.agentType, initialize);
      this.#change((state) => learn(state, initialize));
    }
  }

  #change(change: (state: ThreadState) => ThreadState): void {
    if (this.#state) {
      this.#apply(change);
      this.#pace.soon();
    }
  }

  #apply(change: (state: ThreadState) => ThreadState, seq?: number): void {
    this.#state = this.#older ? this.#older.apply(this.#state!, change, seq) : change(this.#state!);
  }

  #event(event: ThreadEvent): void {
    if (this.#state) {
      this.#fold(event);
      this.#pace.soon();
    } else {
      this.#early.push(event);
    }
  }

  #fold(event: ThreadEvent): void {
    try {
      if (!this.#hasLanes && isAboutEarlier(this.#state!.lanes, event)) void this.#loadLanes();
      this.#apply((state) => fold(state, event), event.params.seq ?? undefined);
      this.#merge();
    } catch (error) {
      if (!(error instanceof OutOfOrder)) {
        throw error;
      }
      // The state is inconsistent, so load the thread again.
      console.warn(error);
      this.#subscription?.close();
      this.#follow();
    }
  }

  #publish(): void {
    const thread = this.#state;
    if (thread && !this.#closed) {
      this.shown.value = { thread, rows: this.#rows(thread) };
    }
  }

  async send(text: string, blocks: readonly AcpObject[], delivery: Delivery): Promise<void> {
    if (delivery !== "steer" || this.#state?.head.turnId == null) {
      return this.#start(text, blocks);
    }
    this.sent.value++;
    const content: AcpObject[] = [...(text ? [{ type: "text", text }] : []), ...blocks];
    await this.client.call("turn/steer", { threadId: this.threadId, content });
    this.sent.value++;
  }

  sendInstead(turnId: string, text: string, blocks: readonly AcpObject[]): Promise<void> {
    return this.#start(text, blocks, turnId);
  }

  async #start(text: string, blocks: readonly AcpObject[], replacesTurnId?: string): Promise<void> {
    this.sent.value++;
    const input = blocks.length > 0 ? [...blocks] : undefined;
    // A retry with the same id refers to the same turn, so a broken connection cannot duplicate it, or drop turns twice.
    const prompt = { threadId: this.threadId, clientTurnId: newId(), text: text || undefined, input, replacesTurnId };
    await twice(this.client, async () => {
      if (replacesTurnId !== undefined) this.#checkReplaces();
      return this.client.call("turn/start", prompt);
    });
    this.sent.value++;
  }

  /** Refuses to replace a turn where the daemon would add the prompt to the conversation: one that is older than this page. */
  #checkReplaces(): void {
    const { state } = this.client;
    if (state.name === "open" && !state.server.capabilities.replacesTurns) {
      throw new Error("The daemon is older than this page and cannot replace a message. Edit it in a fork instead.");
    }
  }

  startAgent(): void {
    const head = this.#state?.head;
    if (this.#startsAgent || head?.status !== "idle" || head.archived) {
      return;
    }
    this.#startsAgent = true;
    // Moves no events: the thread's other reader has them all.
    const reader = this.client.follow(this.threadId, { after: this.#state!.seq, startAgent: true, onEvent: () => {} });
    const close = () => reader.close();
    reader.resumed.then(close, close);
  }

  async readDiff(turnId: string): Promise<string> {
    return (await this.client.call("turn/diff/read", { threadId: this.threadId, turnId })).diff;
  }

  async interrupt(turnId?: string): Promise<void> {
    // A queued turn is removed; stopping the running one must not start the next one.
    await this.client.call("turn/interrupt", { threadId: this.threadId, turnId, pauseQueue: turnId === undefined });
  }

  async stopNow(): Promise<void> {
    await this.client.call("turn/interrupt", { threadId: this.threadId, pauseQueue: true, atOnce: true });
  }

  async typeIn(terminalId: string, text: string): Promise<void> {
    await this.client.call("thread/terminal/write", { threadId: this.threadId, terminalId, text });
  }

  async endCommand(terminalId: string): Promise<void> {
    await this.client.call("thread/terminal/kill", { threadId: this.threadId, terminalId });
  }

  async addFolder(directory: string): Promise<void> {
    await this.client.call("thread/directories/add", { threadId: this.threadId, directory });
  }

  async arrangeQueue(turnIds: readonly string[], paused?: boolean): Promise<void> {
    await this.client.call("turn/queue/arrange", { threadId: this.threadId, turnIds: [...turnIds], paused });
  }

  async editQueued(turnId: string, text: string, others: readonly AcpObject[]): Promise<void> {
    const content: AcpObject[] = [...(text ? [{ type: "text", text }] : []), ...others];
    await this.client.call("turn/queue/edit", { threadId: this.threadId, turnId, content });
  }

  async steerQueued(turnId: string): Promise<void> {
    await this.client.call("turn/queue/steer", { threadId: this.threadId, turnId });
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
    const older = (this.#older = new OlderTurns());
    try {
      const { threadId } = this;
      const { thread } = await this.client.call("thread/read", { threadId, includeTurns: true, cursor, limit: PAGE });
      older.receive(thread);
      this.#merge();
    } catch (error) {
      // Another page may be loading by now.
      if (this.#older === older) {
        this.#endLoading();
      }
      throw error;
    }
  }

  /** Adds the older turns to the state, if they and all events before them have arrived. */
  #merge(): void {
    const merged = this.#state && this.#older?.merged(this.#state);
    if (merged) {
      this.#state = merged;
      this.#endLoading();
      this.#lookForLanes();
      this.#pace.now();
    }
  }

  #endLoading(): void {
    this.#older = undefined;
    this.loading.value = false;
  }

  async forkBefore(turnId: string, prepare: (threadId: string) => void): Promise<void> {
    const before = () => this.#state && turnBefore(this.#state, turnId);
    await this.#loadUntil(() => before() !== undefined, () => this.loadOlder());
    const last = before();
    if (last !== undefined) {
      return this.fork(last, prepare);
    }
    throw new Error(
      this.#state && this.#state.older === undefined
        ? "There is no turn before this message to fork after. Start a new thread instead."
        : "Couldn’t load the turns before this message. Try again.",
    );
  }

  async fork(turnId: string, prepare?: (threadId: string) => void): Promise<void> {
    const { thread } = await this.client.call("thread/fork", {
      threadId: this.threadId,
      turnId,
      name: this.#state?.head.name,
    });
    await this.client.call("thread/unsubscribe", { threadId: thread.id }).catch(() => {});
    prepare?.(thread.id);
    this.onForked(thread.id);
  }

  /** Navigates to a fork; set by the view. */
  onForked: (threadId: string) => void = () => {};

  async rollback(turnId: string): Promise<void> {
    await this.client.call("thread/rollback", { threadId: this.threadId, turnId });
  }

  async loadTurn(turnId: string): Promise<void> {
    const isEnough = (state: ThreadState) => state.turns.some(({ id }) => id === turnId) || turnBefore(state, turnId) !== undefined;
    await this.#loadUntil(isEnough, () => this.loadOlder());
    if (!this.#closed && this.#state && this.#state.older !== undefined && !isEnough(this.#state)) {
      throw new Error("The conversation is very long.");
    }
  }

  /** Loads older turns until an item is found, up to a limit. */
  async seek(itemId: string): Promise<void> {
    const isFound = ({ turns }: ThreadState) => turns.some(({ items }) => items.some((item) => item.itemId === itemId));
    await this.#loadUntil(isFound, () => this.loadOlder().catch(() => {}));
  }

  /**
   * Loads older turns until the state satisfies a condition, up to a limit. Waits for a page that is already being loaded, or
   * whose events have not all arrived.
   */
  async #loadUntil(isEnough: (state: ThreadState) => boolean, load: () => Promise<void>): Promise<void> {
    for (let loads = 0; loads < LOADS; ) {
      const state = this.#state;
      if (this.#closed || this.failed.peek() || (state && (isEnough(state) || state.older === undefined))) {
        return;
      }
      const waits = !state || this.loading.peek();
      if (!waits) {
        loads++;
        await load();
      }
      await new Promise((next) => setTimeout(next, waits || this.loading.peek() ? 50 : 0));
    }
  }
}
