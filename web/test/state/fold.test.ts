/** The fold, held against what the daemon itself says of the same events: recordings of the real one. */

import type { Item, Thread, ThreadEvent } from "@acpd/client";
import { describe, expect, test } from "vitest";

import { fold, openThread, OutOfOrder, prependOlder } from "../../src/state/fold.ts";
import { queueOf } from "../../src/state/fold-turns.ts";
import { OlderTurns } from "../../src/state/older-turns.ts";
import { layOut } from "../../src/state/rows.ts";
import type { ThreadState } from "../../src/state/thread.ts";
import { rowName } from "../../src/views/thread/row-name.ts";

const files = import.meta.glob<string>("../fixtures/*", { query: "?raw", import: "default", eager: true });
const fixture = (name: string) => files[`../fixtures/${name}`]!;
const events = (name: string): ThreadEvent[] =>
  fixture(`${name}.events.jsonl`)
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as ThreadEvent);
const read = (name: string): Thread => (JSON.parse(fixture(`${name}.thread.json`)) as { thread: Thread }).thread;

/** Before its first event. */
function empty(threadId: string): ThreadState {
  const thread: Thread = {
    additionalDirectories: [],
    agentType: "",
    archived: false,
    createdAt: 0,
    cwd: "",
    id: threadId,
    latestSeq: 0,
    pendingRequestIds: [],
    queuedTurnIds: [],
    status: "idle",
    turnCount: 0,
    updatedAt: 0,
  };
  return openThread({ thread, latestSeq: 0 });
}

function replay(list: readonly ThreadEvent[], from = empty(list[0]!.params.threadId)): ThreadState {
  return list.reduce(fold, from);
}

/** Null and left out are the same; in the order of keys nothing is said. */
function bare(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(bare);
  }
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value)
        .filter(([, part]) => part != null)
        .map(([key, part]) => [key, bare(part)] as const)
        .sort(([one], [other]) => (one < other ? -1 : 1)),
    );
  }
  return value;
}

const items = (turns: readonly { items?: readonly Item[] | null }[]) => bare(turns.map((turn) => turn.items ?? []));

test("a report of costs replaces the thread's sum of that currency", () => {
  const [first] = events("demo");
  const report = (seq: number, threadCost: object | undefined) =>
    ({ method: "thread/tokenUsage/updated", params: { threadId: first!.params.threadId, seq, ts: 1, used: 1, size: 2, threadCost } }) as ThreadEvent;
  const usd = (amount: number) => ({ amount, currency: "USD" });
  const costsAfter = (...reports: (object | undefined)[]) =>
    replay(reports.map((cost, index) => report(index + 1, cost))).head.spent?.costs;
  expect(costsAfter(undefined)).toBeUndefined();
  expect(costsAfter(usd(0.2), undefined, usd(0.28))).toEqual([usd(0.28)]);
  expect(costsAfter(usd(0.2), { amount: 1, currency: "EUR" })).toEqual([{ amount: 1, currency: "EUR" }, usd(0.2)]);
});

describe.each(["demo", "turns"])("the recording %s", (name) => {
  test("folds into what thread/read answers", () => {
    const state = replay(events(name));
    const thread = read(name);
    const opened = openThread({ thread, latestSeq: thread.latestSeq });
    expect(items(state.turns)).toEqual(items(opened.turns));
    const ends = (turns: readonly object[]) =>
      turns.map((turn) => {
        const { id, status, stopReason, error, startedAt, completedAt } = turn as unknown as Record<string, unknown>;
        return bare({ id, status, stopReason, error, startedAt, completedAt });
      });
    expect(ends(state.turns)).toEqual(ends(thread.turns ?? []));
    for (const key of ["status", "name", "agentType", "cwd", "modeId", "tokenUsage", "latestSeq"] as const) {
      expect(bare(state.head[key]), key).toEqual(bare(thread[key]));
    }
    expect(bare(state.head.plans)).toEqual(bare(opened.head.plans));
    expect(state.questions).toEqual([]);
  });

  test("can be cut anywhere: opened in the middle, it ends the same", () => {
    const all = events(name);
    const whole = replay(all);
    for (let cut = 1; cut < all.length; cut += 7) {
      const half = replay(all.slice(0, cut));
      // What a page has of the half, as JSON brings it.
      const thread = { ...half.head, turns: half.turns.map(({ key: _, ...turn }) => turn) } as unknown as Thread;
      const opened = openThread(JSON.parse(JSON.stringify({ thread, latestSeq: half.seq })));
      expect(items(replay(all.slice(cut), opened).turns)).toEqual(items(whole.turns));
    }
  });

  test("takes what is known already for nothing", () => {
    const all = events(name);
    const state = replay(all);
    const asked = all.filter(({ method }) => !/requestApproval|requestUserInput/.test(method));
    expect(replay(asked, state)).toBe(state);
  });
});

test("refuses a gap, and events of others", () => {
  const all = events("demo");
  const state = replay(all.slice(0, 5));
  expect(() => fold(state, all[6]!)).toThrow(OutOfOrder);
  expect(() => fold(empty("another"), all[0]!)).toThrow(OutOfOrder);
  expect(fold(state, all[5]!).seq).toBe(6);
});

test("a delta changes its own item and no other", () => {
  const all = events("demo");
  const at = all.findLastIndex(({ method }) => method === "item/agentMessage/delta");
  const before = replay(all.slice(0, at));
  const after = fold(before, all[at]!);
  const changed = after.turns.filter((turn, index) => turn !== before.turns[index]);
  expect(changed).toHaveLength(1);
  const index = after.turns.indexOf(changed[0]!);
  const fresh = after.turns[index]!.items.filter((item, i) => item !== before.turns[index]!.items[i]);
  expect(fresh).toHaveLength(1);
  expect(after.questions).toBe(before.questions);
});

test("rows keep their identity over a delta", () => {
  const all = events("demo");
  const at = all.findIndex(({ method, params }) => method === "item/agentMessage/delta" && params.seq! > 35);
  const rows = layOut();
  const state = replay(all.slice(0, at));
  const before = rows(state);
  const after = rows(fold(state, all[at]!));
  expect(after.length).toBe(before.length);
  expect(after.filter((row, index) => row !== before[index])).toHaveLength(1);
});

test("what a tool call did stands in it, its terminal too", () => {
  const rows = layOut()(replay(events("demo")));
  const inside = rows.flatMap((row) => (row.kind === "item" && row.children.length > 0 ? [row] : []));
  const kinds = inside.map(({ item, children }) => `${item.type}: ${children.map((child) => child.type).join()}`);
  expect(kinds).toEqual([
    "toolCall: fileChange",
    "toolCall: fileChange",
    "toolCall: fileChange",
    "toolCall: terminalCommand",
  ]);
  const keys = rows.map(({ key }) => key);
  expect(new Set(keys).size).toBe(keys.length);
});

test("questions are open until they are resolved, and asked again they are not doubled", () => {
  const all = events("demo");
  const at = all.findIndex(({ method }) => method === "item/fileChange/requestApproval");
  const asked = replay(all.slice(0, at + 1));
  expect(asked.questions).toHaveLength(1);
  expect(fold(asked, all[at]!).questions).toHaveLength(1);
  const resolved = replay(all.slice(at + 1, at + 4), asked);
  expect(resolved.questions).toEqual([]);
  expect(resolved.decisions).toMatchObject([
    { method: "serverRequest/resolved", params: { outcome: "accepted" }, question: { params: { title: "Edit notes.md" } } },
  ]);
});

test("a question is there for who opens the thread while it is open", () => {
  const all = events("demo");
  const at = all.findIndex(({ method }) => method === "item/fileChange/requestApproval");
  const half = replay(all.slice(0, at + 2));
  const opened = openThread({ thread: { ...half.head, turns: [] } as unknown as Thread, latestSeq: half.seq });
  expect(opened.questions).toEqual([]);
  expect(fold(opened, all[at]!).questions).toHaveLength(1);
});

test("queued turns wait at the end; words into a turn are gone once they are a message", () => {
  const all = events("turns");
  const at = all.findIndex(({ method }) => method === "turn/steering");
  const state = replay(all.slice(0, at + 1));
  expect(state.turns.map(({ id, status }) => `${id} ${status}`)).toEqual(["turn_1 running", "turn_2 queued"]);
  expect(state.steering).toMatchObject([{ text: "look left", turnId: "turn_1" }]);
  expect(layOut()(state).map(({ kind }) => kind)).toEqual(["item", "steering", "working"]);
  expect(replay(all.slice(at + 1, at + 3), state).steering).toEqual([]);
});

test("a rollback drops turns", () => {
  const all = events("turns");
  const at = all.findIndex(({ method }) => method === "thread/rolledBack");
  expect(replay(all.slice(0, at)).turns.length).toBeGreaterThan(3);
  expect(replay(all.slice(0, at + 1)).turns.map(({ id }) => id)).toEqual(["turn_1"]);
});

test("older turns come before, once", () => {
  const thread = read("demo");
  const all = thread.turns ?? [];
  const state = openThread({ thread: { ...thread, turns: all.slice(4), cursor: "4" }, latestSeq: thread.latestSeq });
  expect(state.older).toBe("4");
  const more = prependOlder(state, { turns: all.slice(0, 5), cursor: null });
  expect(more.turns.map(({ id }) => id)).toEqual(all.map(({ id }) => id));
  expect(more.older).toBeUndefined();
  expect(more.turns.slice(4)).toEqual(state.turns);
});

test("a turn that is too large for one page is put together", () => {
  const thread = read("demo");
  const all = thread.turns ?? [];
  const at = all.findIndex(({ items }) => (items ?? []).length > 2);
  const items = all[at]!.items ?? [];
  const part = (from: number, to?: number) => ({ ...all[at]!, items: items.slice(from, to) });
  const state = openThread({
    thread: { ...thread, turns: [part(2), ...all.slice(at + 1)], cursor: "x" },
    latestSeq: thread.latestSeq,
  });
  const more = prependOlder(state, { turns: [...all.slice(0, at), part(0, 2)], cursor: null });
  const whole = openThread({ thread: { ...thread, turns: all }, latestSeq: thread.latestSeq });
  expect(more.turns).toEqual(whole.turns);
});

test("output of a terminal is bounded, and says so", () => {
  const all = events("demo");
  const at = all.findIndex(({ method }) => method === "item/terminalCommand/output");
  let state = replay(all.slice(0, at));
  const { itemId, terminalId, threadId, turnId, ts } = all[at]!.params as never as Record<string, string>;
  for (let n = 0; n < 40; n++) {
    const params = { itemId, terminalId, threadId, turnId, ts, text: `${n}`.padEnd(20_000, ".") };
    state = fold(state, { method: "item/terminalCommand/output", params } as unknown as ThreadEvent);
  }
  const item = state.turns.flatMap((turn) => turn.items).find((one) => one.itemId === itemId);
  expect(item).toMatchObject({ truncated: true });
  const output = (item as { output: string }).output;
  expect(output.length).toBeLessThanOrEqual(256 * 1024);
  expect(output.endsWith("39".padEnd(20_000, "."))).toBe(true);
});

test("a command that a user ran is theirs, in a turn without a prompt", () => {
  const at = (seq: number) => ({ threadId: "t", seq, ts: seq, turnId: "turn_1" });
  const by = { kind: "client", principal: "owner", client: "mine" };
  const command = { itemId: "item_1", type: "terminalCommand", terminalId: "user_1" };
  const list = [
    { method: "turn/started", params: { ...at(1), turn: { id: "turn_1", status: "running", startedAt: 1 } } },
    { method: "item/terminalCommand/started", params: { ...at(2), ...command, command: "ls | wc", args: [], cwd: "/w", requestedBy: by, by } },
    { method: "item/terminalCommand/output", params: { ...at(3), itemId: "item_1", terminalId: "user_1", text: "3\n" } },
    { method: "item/terminalCommand/completed", params: { ...at(4), ...command, outcome: "completed", exitCode: 0, signal: null, output: "3\n", truncated: false, by } },
    { method: "turn/completed", params: { ...at(5), turn: { id: "turn_1", status: "completed", startedAt: 1, completedAt: 5 } } },
  ] as unknown as ThreadEvent[];
  const rows = layOut()(replay(list));
  expect(rows.filter((row) => row.kind !== "lane").map(rowName)).toEqual(["You ran: ls | wc", "End of the turn"]);
  expect(rows[0]).toMatchObject({ item: { requestedBy: by, output: "3\n", exitCode: 0, outcome: "completed" } });
});

test("the queue has the prompts of all clients, in its order", () => {
  const all = events("turns");
  const state = replay(all.slice(0, all.findIndex(({ method }) => method === "turn/queued")));
  const { threadId } = state;
  const queued = (seq: number, id: string, text: string) =>
    ({
      method: "turn/queued",
      params: { threadId, seq, ts: 1, turnId: id, turn: { id, status: "queued", input: [{ type: "text", text }] } },
    }) as ThreadEvent;
  const changed = (seq: number, queuedTurnIds: string[], paused: boolean) =>
    ({ method: "turn/queue/changed", params: { threadId, seq, ts: 1, queuedTurnIds, paused } }) as ThreadEvent;
  const texts = (thread: ThreadState) => queueOf(thread).map(({ input }) => input?.[0]?.text);
  const at = state.seq;
  const two = fold(fold(state, queued(at + 1, "turn_2", "b")), queued(at + 2, "turn_3", "c"));
  expect(texts(two)).toEqual(["b", "c"]);
  const edited = fold(fold(two, changed(at + 3, ["turn_3", "turn_2"], true)), queued(at + 4, "turn_2", "better"));
  expect([texts(edited), edited.head.queuePaused]).toEqual([["c", "better"], true]);
  expect(layOut()(edited).some(({ key }) => key.includes("turn_2"))).toBe(false);
  const gone = ["turn_2", "turn_3"].reduce(
    (thread, id, n) =>
      fold(thread, {
        method: "turn/completed",
        params: { threadId, seq: at + 5 + n, ts: 2, turnId: id, turn: { id, status: "interrupted", completedAt: 2 } },
      } as ThreadEvent),
    edited,
  );
  expect([texts(gone), gone.head.queuePaused]).toEqual([[], false]);
  expect(layOut()(gone).some(({ key }) => /turn_[23]/.test(key)), "a removed turn leaves no row").toBe(false);
});

test("the plan belongs to the turn that has made it", () => {
  const thread = read("turns");
  const plan = [{ content: "one", priority: "low", status: "pending" }];
  const [first, ...rest] = thread.turns!;
  const opened = openThread({ thread: { ...thread, plan, turns: [{ ...first!, plan }, ...rest] }, latestSeq: thread.latestSeq });
  const made = ({ turns }: ThreadState) => turns.filter(({ plans }) => plans !== undefined).map(({ id }) => id);
  expect(made(opened)).toEqual([first!.id]);
  const params = { threadId: thread.id, turnId: "turn_9", seq: thread.latestSeq + 1, ts: 0 };
  const started = fold(opened, { method: "turn/started", params: { ...params, turn: { id: "turn_9", status: "running" } } } as unknown as ThreadEvent);
  expect(started.turns.at(-1)).not.toHaveProperty("plans");
  const updated = fold(started, { method: "turn/plan/updated", params: { ...params, seq: params.seq + 1, entries: [] } } as unknown as ThreadEvent);
  expect(updated.turns.at(-1)!.plans).toEqual([{ entries: [] }]);
});

test("plans are told apart by their ids, keep their places, and go when the agent removes them", () => {
  const thread = read("turns");
  const text = { planId: "b", entries: [], form: "markdown", markdown: "# b", path: "/w/b.md" };
  const steps = { planId: "a", entries: [{ content: "one", priority: "low", status: "pending" }] };
  const opened = openThread({ thread: { ...thread, plans: [steps] } as Thread, latestSeq: thread.latestSeq });
  expect(opened.head.plans).toEqual([steps]);
  let seq = thread.latestSeq;
  const step = (state: ThreadState, method: string, more: object) => {
    const params = { threadId: thread.id, turnId: "turn_9", seq: ++seq, ts: 0, ...more };
    return fold(state, { method, params } as unknown as ThreadEvent);
  };
  let state = step(opened, "turn/started", { turn: { id: "turn_9", status: "running" } });
  for (const plan of [text, steps, { ...text, markdown: "# b, again" }]) state = step(state, "turn/plan/updated", plan);
  const both = [{ ...text, markdown: "# b, again" }, steps];
  expect(state.turns.at(-1)!.plans).toEqual(both);
  expect(state.head.plans).toEqual([steps, both[0]]);
  state = step(state, "turn/plan/removed", { planId: "none" });
  expect(state.turns.at(-1)!.plans).toEqual(both);
  state = step(state, "turn/plan/removed", { planId: "b" });
  expect([state.turns.at(-1)!.plans, state.head.plans]).toEqual([[steps], [steps]]);
  state = step(state, "turn/plan/removed", { planId: "a" });
  expect(state.turns.at(-1)).not.toHaveProperty("plans");
  expect(state.head).not.toHaveProperty("plans");
});

test("a plan after the end of a turn is the thread's alone", () => {
  const thread = read("turns");
  const opened = openThread({ thread, latestSeq: thread.latestSeq });
  const entries = [{ content: "one", priority: "low", status: "pending" }];
  const params = { threadId: thread.id, seq: thread.latestSeq + 1, ts: 0, entries };
  const updated = fold(opened, { method: "turn/plan/updated", params } as unknown as ThreadEvent);
  expect(updated.turns).toEqual(opened.turns);
  expect(updated.head.plans).toEqual([{ entries }]);
});

test("a turn that is being stopped is so after a reload", () => {
  const thread = read("turns");
  const last = thread.turns!.at(-1)!;
  const opened = openThread({ thread: { ...thread, turnId: last.id, interrupting: true }, latestSeq: thread.latestSeq });
  expect(opened.turns.filter(({ interrupting }) => interrupting).map(({ id }) => id)).toEqual([last.id]);
  expect(opened.head).not.toHaveProperty("interrupting");
});

test("notices and answers of loaded turns stand where they stood live", () => {
  const all = events("demo");
  const state = replay(all);
  const item = state.turns.find(({ items }) => items.length > 1)!.items[0]!.itemId;
  const { threadId } = state;
  const notice = { threadId, ts: 1, seq: state.seq + 1, level: "warning", code: "c", message: "careful" };
  const answer = { threadId, ts: 1, seq: state.seq + 2, requestId: "r", itemId: item, outcome: "accepted", by: { kind: "client" } };
  const [turn, ...rest] = read("demo").turns ?? [];
  const turns = [{ ...turn!, notices: [{ ...notice, afterItemId: item }], answers: [answer] }, ...rest] as Thread["turns"];
  const opened = openThread({ thread: { ...read("demo"), turns }, latestSeq: state.seq });
  const keys = layOut()(opened).map(({ key }) => key);
  expect(keys[keys.indexOf(item) + 1]).toBe(`notice-${notice.seq}`);
  expect(opened.answers).toEqual([answer]);
  expect(opened.turns.every((one) => !("notices" in one) && !("answers" in one))).toBe(true);
  const empty = openThread({ thread: { ...read("demo"), turns: [] }, latestSeq: state.seq });
  const paged = prependOlder(empty, { turns, cursor: undefined });
  expect([paged.notices, paged.answers]).toEqual([opened.notices, opened.answers]);
  expect(prependOlder(paged, { turns, cursor: undefined }).notices).toHaveLength(1);
});

test("items before the first turn are shown, whatever status the daemon gives them", () => {
  const item = { type: "agentMessage", itemId: "item_1", text: "hello", outcome: "completed" };
  const turns = [{ status: "queued", items: [item] }] as unknown as Thread["turns"];
  const opened = openThread({ thread: { ...read("demo"), turns }, latestSeq: 1 });
  expect(layOut()(opened).map(({ key }) => key)).toEqual(["item_1"]);
});

describe("what a page that follows shows equals what a page that loads shows", () => {
  const { threadId } = empty("t-1");
  const prompt = { itemId: "i-1", type: "userMessage", text: `${"word ".repeat(15)}and the end`, outcome: "completed" };
  let seq = 0;
  const event = (method: string, params: object) => ({ method, params: { threadId, seq: (seq += 1), ts: seq, ...params } }) as ThreadEvent;
  const turn = (id: string, rest: object) => ({ turn: { id, ...rest } });
  const from = (list: (() => ThreadEvent)[], state = empty(threadId)) => {
    seq = state.seq;
    return list.reduce((folded, next) => fold(folded, next()), state);
  };
  const started = (id: string) => () => event("turn/started", turn(id, { status: "running", startedAt: seq + 1 }));
  const ended = (id: string) => () => event("turn/completed", turn(id, { status: "completed", completedAt: seq + 1 }));
  const said = (itemId: string, turnId?: string) => () => event("item/started", { itemId, turnId, type: "agentMessage" });
  const asked = (turnId: string) => () => event("item/userMessage", { itemId: "i-1", turnId, text: prompt.text });
  const begun = (turnId: string) => () => event("item/started", { ...prompt, turnId });
  const shown = (state: ThreadState) => layOut()(state).map(({ key }) => key);

  test("a long name from a prompt ends as the daemon's does", () => {
    const state = from([started("a"), begun("a"), asked("a")]);
    expect(state.head.name).toBe(`${"word ".repeat(15)}and…`);
  });

  test("a thread without turns has no name from a prompt, and its number of turns", () => {
    const state = from([started("a"), begun("a"), asked("a"), ended("a"), started("b"), ended("b")]);
    expect(state.head.turnCount).toBe(2);
    const back = () => event("thread/rolledBack", { lastKeptTurnId: "a" });
    expect(from([back], state).head).toMatchObject({ turnCount: 1, name: state.head.name });
    const nothing = from([() => event("thread/rolledBack", { lastKeptTurnId: null })], state);
    expect([nothing.head.turnCount, nothing.head.name]).toEqual([0, undefined]);
    const named = { ...state, head: { ...state.head, name: "By the user" } };
    expect(from([() => event("thread/rolledBack", { lastKeptTurnId: null })], named).head.name).toBe("By the user");
  });

  test("an item after the end of a turn is above that end", () => {
    const state = from([started("a"), said("i-1", "a"), ended("a"), said("late")]);
    expect(shown(state)).toEqual(["i-1", "late", "end-a"]);
    expect(shown(from([said("early")]))).toEqual(["early"]);
  });

  test("turns are in the order in which they began, which the user may have changed", () => {
    const queued = (id: string) => () => event("turn/queued", turn(id, { status: "queued" }));
    const all = [
      ...[started("1"), queued("2"), queued("10"), said("item_1", "1"), ended("1")],
      ...[started("10"), said("item_2", "10"), ended("10"), started("2"), said("item_3", "2")],
    ];
    const state = from(all);
    expect(shown(state)).toEqual(["item_1", "end-1", "item_2", "end-10", "item_3", "end-2"]);
    // A page has them in the order of their prompts.
    const page = [...state.turns].sort((one, other) => Number(one.id) - Number(other.id));
    const turns = page.map(({ key: _, ...rest }) => rest) as Thread["turns"];
    const loaded = openThread({ thread: { ...read("demo"), id: threadId, turns }, latestSeq: state.seq });
    expect(shown(loaded)).toEqual(shown(state));
  });

  test("a turn that ended in the queue is behind the turn that ran then", () => {
    const queued = (id: string) => () => event("turn/queued", turn(id, { status: "queued" }));
    const state = from([
      ...[started("1"), queued("2"), queued("3"), queued("4"), said("item_1", "1"), ended("1")],
      ...[started("4"), said("item_2", "4"), ended("3"), ended("4"), ended("2")],
    ]);
    const ids = ({ turns }: ThreadState) => turns.map(({ id }) => id);
    expect(ids(state)).toEqual(["1", "4", "3", "2"]);
    const page = [...state.turns].sort((one, other) => Number(one.id) - Number(other.id));
    const turns = page.map(({ key: _, ...rest }) => rest) as Thread["turns"];
    expect(ids(openThread({ thread: { ...read("demo"), id: threadId, turns }, latestSeq: state.seq }))).toEqual(ids(state));
  });

  test("turns keep their order when the clock goes back", () => {
    const at = (id: string, startedAt: number) => () => event("turn/started", turn(id, { status: "running", startedAt }));
    const state = from([at("1", 9_000), said("item_1", "1"), ended("1"), at("2", 1), said("item_2", "2"), ended("2"), at("3", 5_000)]);
    expect(state.turns.map(({ id }) => id)).toEqual(["1", "2", "3"]);
  });

  test("a moved thread has its new directories", () => {
    const directories = { cwd: "/new", additionalDirectories: ["/docs"] };
    const { head } = from([() => event("thread/updated", { directories })], empty(threadId) as unknown as ThreadState);
    expect([head.cwd, head.additionalDirectories]).toEqual(["/new", ["/docs"]]);
  });

  test("a new session's mode is that of the option for it", () => {
    const modes = { currentModeId: "ask", availableModes: [] };
    const option = { id: "acpd.mode", currentValue: "code", options: [] };
    const first = empty(threadId);
    const state = { ...first, head: { ...first.head, modeId: "code", configOptions: [option] } };
    const { head } = from([() => event("thread/updated", { agent: { session: { modes } } })], state as unknown as ThreadState);
    expect([head.modeId, head.configOptions?.[0]?.currentValue]).toEqual(["ask", "ask"]);
  });

  test("an update after the end of a tool call brings content, and no status", () => {
    const call = { itemId: "c", type: "toolCall", status: "in_progress", toolCall: { status: "in_progress", title: "make", sessionUpdate: "tool_call" } };
    const state = from([
      started("a"),
      () => event("item/toolCall/started", { ...call, turnId: "a" }),
      () => event("item/toolCall/completed", { ...call, turnId: "a", outcome: "interrupted" }),
      () => event("item/updated", { itemId: "c", status: "failed", toolCall: { status: "failed", content: [] } }),
    ]);
    expect(state.turns[0]!.items[0]).toMatchObject({ status: "in_progress", toolCall: { status: "in_progress", content: [] } });
  });

  test("older turns fit events that arrive before and after them", () => {
    const state = from([started("a"), said("i-1", "a")]);
    const page = { ...read("demo"), id: threadId, latestSeq: 4, cursor: null, turns: [{ id: "a", status: "running", items: [
      { itemId: "i-0", type: "agentMessage", text: "one" }, { itemId: "i-1", type: "agentMessage", text: "x" },
    ] }] } as unknown as Thread;
    const older = new OlderTurns();
    const delta = (itemId: string, text: string) => event("item/agentMessage/delta", { itemId, turnId: "a", text });
    const step = (before: ThreadState, next: ThreadEvent) => older.apply(before, (one) => fold(one, next), next.params.seq!);
    let now = step(state, delta("i-1", "x"));
    older.receive(page);
    expect(older.merged(now)).toBeUndefined();
    now = step(now, event("turn/plan/updated", { entries: [] }));
    now = step(now, delta("i-0", " two"));
    const merged = older.merged(now)!;
    expect(merged.seq).toBe(5);
    expect(merged.turns[0]!.items).toMatchObject([{ itemId: "i-0", text: "one two" }, { itemId: "i-1", text: "x" }]);
  });
});

test("suggestions are about the next prompt only", () => {
  const threadId = "t";
  const suggested = (...prompts: Record<string, unknown>[][]): ThreadEvent => ({
    method: "thread/suggestions/updated",
    params: { threadId, ts: 1, suggestions: prompts.map((prompt) => ({ prompt })) },
  });
  const words = [{ type: "text", text: "Explain " }, { type: "resource_link", uri: "file:///w/a.rs", name: "a.rs" }];
  const shown = fold(empty(threadId), suggested([{ type: "text", text: "Run the tests" }], words));
  expect(shown.suggestions).toEqual(["Run the tests", "Explain file:///w/a.rs"]);
  expect(shown.seq).toBe(0);
  expect(fold(shown, suggested()).suggestions).toEqual([]);
  const started = fold(shown, {
    method: "turn/started",
    params: { threadId, seq: 1, ts: 2, turnId: "turn_1", turn: { id: "turn_1", status: "running" } },
  } as ThreadEvent);
  expect(started.suggestions).toEqual(shown.suggestions);
  const prompted = fold(started, {
    method: "item/userMessage",
    params: { threadId, seq: 2, ts: 2, turnId: "turn_1", itemId: "item_1", text: "Go", content: [], by: { kind: "daemon" } },
  } as unknown as ThreadEvent);
  expect(prompted.suggestions).toBeUndefined();
});
