/** Plays a story on a thread of the real daemon, and compares what readers of the thread show. */

import assert from "node:assert/strict";

import type { Client, Item } from "@acpd/client";

import { countAtWork } from "../../src/state/lanes.ts";
import { layOutline } from "../../src/state/outline.ts";
import { layOut } from "../../src/state/rows.ts";
import { queueOf } from "../../src/state/fold-turns.ts";
import type { ThreadState } from "../../src/state/thread.ts";
import type { Daemon } from "./daemon.ts";
import { differences } from "./differences.ts";
import { Random } from "./random.ts";
import { Reader } from "./reader.ts";
import type { Action } from "./story.ts";

/** Codes of requests that come at the wrong time, as a user's may. */
const UNTIMELY = new Set(["conflict", "unsupported", "agent_failed"]);

/** Maximum number of differences in a message. */
const SHOWN = 20;

export class Play {
  #threadId = "";
  #readers: Reader[] = [];
  constructor(
    private readonly daemon: Daemon,
    private readonly client: Client,
    private readonly random: Random,
    /** Receives what the story has contained. */
    private readonly seen: Set<string>,
  ) {}

  async run(actions: readonly Action[]): Promise<void> {
    try {
      const { thread } = await this.client.call("thread/start", { agentType: "fake", cwd: this.daemon.work });
      await this.#begin(thread.id);
      for (const action of actions) {
        await this.#attempt(action);
        await this.#settle();
        await this.#compare();
      }
    } finally {
      this.#readers.forEach((reader) => reader.close());
      await this.client.call("thread/delete", { threadId: this.#threadId }).catch(() => {});
    }
  }

  get #live(): Reader {
    return this.#readers[0]!;
  }

  get #state(): ThreadState {
    return this.#live.state;
  }

  async #begin(threadId: string): Promise<void> {
    this.#readers.forEach((reader) => reader.close());
    this.#threadId = threadId;
    this.#readers = [];
    await this.#open(10);
  }

  /** Opens the thread in another page. */
  async #open(limit: number): Promise<void> {
    const reader = await Reader.open(this.client, this.#threadId, limit);
    this.#readers.push(reader);
    await reader.loadOlder(limit);
  }

  async #act(action: Action): Promise<void> {
    const threadId = this.#threadId;
    const { head, turns } = this.#state;
    const over = turns.filter(({ id, completedAt }) => id != null && completedAt != null);
    switch (action.do) {
      case "prompt": {
        const { turn } = await this.client.call("turn/start", { threadId, text: action.text });
        return this.#live.until("the turn", (state) => state.turns.some(({ id }) => id === turn.id));
      }
      case "steer":
        return this.#steer(action.text);
      case "answer":
        return this.#answer(action.choice);
      case "interrupt":
        await this.client.call("turn/interrupt", { threadId, pauseQueue: action.pause, atOnce: action.atOnce });
        return this.#live.until("the end of the turn", (state) => state.head.turnId !== head.turnId);
      case "queue":
        return this.#queue(action.change, action.at);
      case "rollback":
        await this.client.call("thread/rollback", { threadId, turnId: over[action.at]?.id ?? null });
        return;
      case "fork": {
        const { thread } = await this.client.call("thread/fork", { threadId, turnId: over[action.at]?.id });
        await this.client.call("turn/interrupt", { threadId, atOnce: true }).catch(() => {});
        return this.#begin(thread.id);
      }
      case "mode":
        await this.client.call("thread/mode/set", { threadId, modeId: action.id });
        return;
      case "rename":
        await this.client.call("thread/name/set", { threadId, name: action.name });
        return;
      case "restart":
        await this.daemon.kill(action.signal);
        await this.daemon.launch();
        await this.client.ready();
        return;
      case "open":
        return this.#open(action.limit + head.queuedTurnIds.length);
    }
  }

  /** The agent may answer only after the turn. Until then the message is seen by all. */
  async #steer(text: string): Promise<void> {
    const { threadId, steering } = this.#state;
    const sent = this.client.call("turn/steer", { threadId, content: text });
    sent.catch(() => {});
    await Promise.race([sent, this.#live.until("the message", (state) => state.steering.length > steering.length)]);
  }

  async #answer(choice: number): Promise<void> {
    const { head } = this.#state;
    const [requestId] = head.pendingRequestIds;
    if (requestId === undefined) return;
    const question = this.#state.questions.find(({ params }) => params.requestId === requestId);
    assert.ok(question, `the question ${requestId} has no event`);
    if (question.method !== "item/tool/requestUserInput") {
      const { optionId } = question.params.options[choice % question.params.options.length]!;
      await this.client.call("item/approve", { requestId, optionId });
    } else if (choice % 2 === 0) {
      await this.client.call("item/answer", { requestId, answers: { name: "Ann", colour: "red" } });
    } else {
      await this.client.call("item/answer", { requestId, dismissed: true });
    }
    await this.#live.until("the answer", (state) => !state.head.pendingRequestIds.includes(requestId));
  }

  async #queue(change: string, at: number): Promise<void> {
    const { threadId, head } = this.#state;
    const { queuedTurnIds: ids } = head;
    const turnId = ids[at % Math.max(1, ids.length)];
    switch (change) {
      case "pause":
      case "continue":
        await this.client.call("turn/queue/arrange", { threadId, turnIds: [], paused: change === "pause" });
        return;
      case "reverse":
        await this.client.call("turn/queue/arrange", { threadId, turnIds: [...ids].reverse() });
        return;
    }
    if (turnId === undefined) return;
    if (change === "edit") {
      await this.client.call("turn/queue/edit", { threadId, turnId, content: "say edited" });
    } else if (change === "steer") {
      await this.client.call("turn/queue/steer", { threadId, turnId });
    } else {
      await this.client.call("turn/interrupt", { threadId, turnId });
    }
  }

  /** Requests may come at the wrong time, as a user's do: then the daemon refuses them. */
  async #attempt(action: Action): Promise<void> {
    try {
      await this.#act(action);
      this.seen.add(action.do === "queue" ? `did queue ${action.change}` : `did ${action.do}`);
    } catch (error) {
      if (!UNTIMELY.has(String((error as { code?: string }).code))) {
        throw error;
      }
    }
  }

  /** Waits until nothing happens without the user: no turn runs, or it waits for an answer or runs a step that waits. */
  async #settle(): Promise<void> {
    await this.#live.until("rest", ({ head, turns }) => {
      const running = turns.find(({ id }) => id != null && id === head.turnId);
      return head.status !== "running" || running?.items.some(isWait) === true || isLeftToSubagents(this.#state);
    });
  }

  /** Opens the thread afresh, and compares it with each reader at the same event. */
  async #compare(): Promise<void> {
    // The page loads enough turns at once that the running one is among them.
    const limit = 1 + this.random.below(4) + this.#state.head.queuedTurnIds.length;
    const fresh = await Reader.open(this.client, this.#threadId, limit);
    try {
      if (fresh.state.older !== undefined) this.seen.add("saw older turns");
      await fresh.loadOlder(limit);
      await fresh.caughtUp();
      const { state: loaded } = fresh;
      const { seq } = loaded;
      for (const reader of this.#readers) {
        const state = await reader.at(seq);
        assert.ok(state, `a reader has not seen event ${seq}`);
        const found = differences(view(state), view(loaded));
        assert.equal(found.slice(0, SHOWN).join("\n"), "", `followed and loaded, at event ${seq}`);
      }
      note(this.seen, loaded);
    } finally {
      fresh.close();
    }
  }
}

function isWait(item: Item): boolean {
  switch (item.type) {
    case "toolCall":
      return item.title === "work";
    case "terminalCommand":
      return item.command === "sleep";
    default:
      return item.type === "userMessage" && item.text?.endsWith("steered") === true;
  }
}

/** Returns whether only subagents work: their turn has no prompt. */
function isLeftToSubagents(state: ThreadState): boolean {
  const running = state.turns.find(({ id }) => id != null && id === state.head.turnId);
  return countAtWork(state) > 0 && running?.items.every(({ type, lane }) => type !== "userMessage" || lane != null) === true;
}

function note(seen: Set<string>, state: ThreadState): void {
  const { turns, head, notices, answers, steering } = state;
  seen.add(`thread ${head.status}`);
  if (notices.length > 0) seen.add("saw notice");
  if (notices.some(({ afterTurnId }) => afterTurnId !== undefined)) seen.add("saw notice after a turn");
  if (answers.some(({ itemId }) => itemId != null)) seen.add("saw decision");
  if (answers.some(({ itemId, answers: form }) => itemId == null && form != null)) seen.add("saw form");
  if (answers.some(({ itemId, optionId }) => itemId == null && optionId != null)) seen.add("saw answer to acpd");
  if (turns.some(({ permitted }) => (permitted ?? 0) > 0)) seen.add("saw call that a rule allowed");
  if (steering.length > 0) seen.add("saw steering");
  if (countAtWork(state) > 0) seen.add("saw subagent at work");
  if (layOut()(state).some((row) => row.kind === "lane" && row.rows.some(({ kind }) => kind === "lane"))) seen.add("saw subagent of a subagent");
  if ((head.plans ?? []).some(({ entries }) => entries.length > 0)) seen.add("saw plan");
  for (const turn of turns) {
    seen.add(`turn ${turn.status}`);
    turn.items.forEach(({ type }) => seen.add(`item ${type}`));
  }
}

const FOLDED = { chosen: () => undefined, usual: () => false };
const UNFOLDED = { chosen: () => true, usual: () => true };

/** Returns everything that is on screen, as data. */
function view(state: ThreadState): unknown {
  const rows = layOut()(state);
  const { head, answers } = state;
  return {
    rows,
    folded: layOutline()(rows, FOLDED),
    unfolded: layOutline()(rows, UNFOLDED),
    queue: queueOf(state),
    answers,
    atWork: countAtWork(state),
    // The question of a waiting thread is for lists, which read it from the summary.
    head: { ...head, question: undefined },
  };
}
