/**
 * The subagents of a thread, by their lanes. In: what `thread/lanes` lists, and every change. Out: their names, what they do, and how many
 * work. A loaded thread does not contain them, so they are asked for where there may be any.
 */

import type { Item, Lane, LaneState, LaneUpdated, Thread, ThreadEvent } from "@acpd/client";

import { visibleName } from "../text/bidi-guard.ts";
import { words } from "../text/format.ts";

/** What is known of a subagent. `null` is known to be nothing; what is absent was reported before the page opened the thread. */
export interface Subagent {
  readonly title?: string | null | undefined;
  readonly description?: string | null | undefined;
  readonly sessionId?: string | null | undefined;
  /** The lane of the subagent that created it. */
  readonly parent?: string | null | undefined;
  readonly state?: LaneState | null | undefined;
  readonly updatedAt?: number;
}

export type Lanes = Readonly<Record<string, Subagent>>;

/** A thread, as far as its subagents are concerned. */
interface OfLanes {
  readonly head: Pick<Thread, "status" | "turnId">;
  readonly turns: readonly { readonly items: readonly Item[] }[];
  readonly lanes: Lanes;
}

/** The members that a change may clear. */
const CLEARED = ["title", "description", "state"] as const;

/** Applies an event. `sessionId` is the agent's session before it. */
export function foldLanes(lanes: Lanes, event: ThreadEvent, sessionId: string | null | undefined): Lanes {
  switch (event.method) {
    case "thread/lane/updated":
      return event.params.lane == null ? lanes : { ...lanes, [event.params.lane]: updated(lanes[event.params.lane], event.params) };
    case "thread/updated": {
      const { agent } = event.params;
      return agent != null && agent.sessionId !== sessionId ? withoutSession(lanes) : lanes;
    }
    case "thread/rolledBack":
    case "thread/forked":
      return withoutSession(lanes);
    default:
      return lanes;
  }
}

function updated(known: Subagent | undefined, change: LaneUpdated): Subagent {
  const next: { -readonly [K in keyof Subagent]: Subagent[K] } = { ...known, updatedAt: change.ts };
  if (change.sessionId != null) {
    // The first report: whatever it leaves out is nothing.
    Object.assign(next, { sessionId: change.sessionId, parent: change.parent ?? null, title: null, description: null, state: null });
  }
  for (const member of CLEARED) {
    if (member in change) {
      Object.assign(next, { [member]: change[member] ?? null });
    }
  }
  return next;
}

/** The agent's ids and what was reported of the states end with its session. */
function withoutSession(lanes: Lanes): Lanes {
  const all = Object.entries(lanes);
  return all.length === 0 ? lanes : Object.fromEntries(all.map(([lane, known]) => [lane, { ...known, sessionId: null, state: null }]));
}

/** Adds what the daemon lists. It was read while events arrived, so of each subagent the later report counts. */
export function withLanes(lanes: Lanes, listed: readonly Lane[]): Lanes {
  const merged = listed.map(({ lane, title, description, sessionId, parent, state, updatedAt }) => {
    const read = {
      title: title ?? null, description: description ?? null, sessionId: sessionId ?? null, parent: parent ?? null, state: state ?? null,
      updatedAt,
    };
    const known = lanes[lane];
    return [lane, (known?.updatedAt ?? 0) < updatedAt ? { ...known, ...read } : { ...read, ...known }] as const;
  });
  return { ...lanes, ...Object.fromEntries(merged) };
}

/** Returns whether a thread that was loaded may have subagents: it works, or a loaded item is one's. */
export function mayHaveLanes({ head, turns }: Pick<OfLanes, "head" | "turns">): boolean {
  return head.status !== "idle" || turns.some(({ items }) => items.some(({ lane }) => lane != null));
}

/** Returns whether an event is about a subagent that was first reported before the page opened the thread. */
export function isAboutEarlier(lanes: Lanes, { method, params }: ThreadEvent): boolean {
  const lane = "lane" in params ? params.lane : undefined;
  if (lane == null) return false;
  const known = lanes[lane];
  return method === "thread/lane/updated" ? params.sessionId == null && known?.sessionId === undefined : known === undefined;
}

/** Returns whether a subagent works, or waits for a user. */
export function isAtWork({ state }: Subagent): boolean {
  return state?.state === "running" || state?.state === "requires_action";
}

/** Returns the number of subagents that work. */
export function countAtWork({ head, lanes }: Pick<OfLanes, "head" | "lanes">): number {
  return head.turnId == null ? 0 : Object.values(lanes).filter(isAtWork).length;
}

/** Says how many subagents work: "1 subagent at work". */
export function atWorkWords(count: number): string {
  return `${count} ${count === 1 ? "subagent" : "subagents"} at work`;
}

/** Maximum length of a name, in characters, as in the daemon's sentences. */
const NAME_CHARS = 80;

/** Returns the agent's words as one short line, with invisible characters escaped. */
function short(said: string): string {
  const letters = [...visibleName(said.trim())];
  return letters.length <= NAME_CHARS ? letters.join("") : `${letters.slice(0, NAME_CHARS - 1).join("")}…`;
}

/** Returns a subagent's own name, if it has any. Some agents describe a subagent and give it no title. */
export function nameOfSubagent({ title, description, sessionId }: Subagent): string | undefined {
  const name = [title, description].find((said) => said != null && said.trim() !== "") ?? sessionId ?? "";
  return name.trim() === "" ? undefined : short(name);
}

/** Names a subagent in a sentence: `Subagent “review”`. Quotes in the name would let the agent's words end it. */
export function callOf(subagent: Subagent | undefined): string {
  const name = nameOfSubagent(subagent ?? {});
  return name === undefined ? "Subagent" : `Subagent “${name.replaceAll(/["“”]/g, "'")}”`;
}

/** What a subagent does, as the status of its line. */
export interface Doing {
  readonly status: string;
  readonly tone?: "stopped";
  readonly said?: string;
}

/** Returns what a subagent does, if that is known. `isAsking`: whether the user has a question of it. */
export function doing({ state }: Subagent, isAsking: boolean): Doing | undefined {
  if (isAsking || state?.state === "requires_action") return { status: "asked", said: "waiting for you" };
  switch (state?.state) {
    case undefined:
    case "unknown":
      return undefined;
    case "running":
      return { status: "in_progress" };
    case "idle":
      return ended(state?.stopReason);
    default:
      // The agent's own word.
      return { status: "unknown", tone: "stopped", said: short(words(state?.state ?? "")) };
  }
}

function ended(reason: string | null | undefined): Doing {
  if (reason == null || reason === "end_turn") return { status: "completed" };
  return reason === "cancelled" ? { status: "interrupted", said: "stopped" } : { status: "failed", said: short(words(reason)) };
}
