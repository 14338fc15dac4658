/**
 * The state of a thread for views. Its parts have the protocol's types; this module defines how they combine after
 * folding. Everything is read-only: a change creates new objects along its path and keeps all others, so that `===`
 * shows whether a view must be rendered again.
 */

import type {
  Approval,
  InputWanted,
  Item,
  Json,
  Notice,
  Permitted,
  Plan,
  Remembered,
  Resolved,
  Revoked,
  Subscriber,
  Thread,
  ThreadEvent,
  Turn,
} from "@acpd/client";

import type { Lanes, Subagent } from "./lanes.ts";
import type { Planned } from "./plans.ts";

/** A turn with its items. A turn without an `id` contains the items before the first turn. */
export interface FoldedTurn extends Omit<Turn, "items" | "plan" | "plans"> {
  /** A stable key for lists, even without an `id`. */
  readonly key: string;
  readonly items: readonly Item[];
  /** The plans that the agent has changed in the turn. */
  readonly plans?: readonly Plan[];
  /** Whether an interruption was requested and the turn still runs. */
  readonly interrupting?: boolean;
}

/** Everything of the thread except its turns: name, status, plans, mode, config options, commands, tokens. */
export type ThreadHead = Readonly<
  Omit<Thread, "turns" | "cursor" | "lastTurnStatus" | "lastTurnCutOff" | "interrupting" | "steering" | "plan" | "plans">
> &
  Planned;

/** An open question of the agent. */
export type Question =
  | {
      readonly method:
        | "item/commandExecution/requestApproval"
        | "item/fileChange/requestApproval"
        | "item/permissions/requestApproval";
      readonly params: Approval;
    }
  | { readonly method: "item/tool/requestUserInput"; readonly params: InputWanted };

/** A decision for the audit trail: who allowed or refused an action, and under which rule. */
export type Decision =
  | { readonly method: "serverRequest/resolved"; readonly params: Resolved; readonly question?: Question }
  | { readonly method: "policy/permitted"; readonly params: Permitted }
  | { readonly method: "policy/remembered"; readonly params: Remembered }
  | { readonly method: "policy/revoked"; readonly params: Revoked };

/** A follow-up for the running turn that the agent has not received yet. */
export interface Steering {
  readonly seq: number;
  readonly turnId: string | undefined;
  readonly text: string;
}

/** A place between items. Without members it is before the first turn. */
export interface Place {
  /** The item before it, in a turn that was running. */
  readonly afterItemId?: string;
  /** The turn before it, if none was running. */
  readonly afterTurnId?: string;
}

/** A notice and its place. */
export interface PlacedNotice extends Place {
  readonly notice: Notice;
}

/** An answer to a question of the agent, and its place. */
export type PlacedAnswer = Resolved & Place;

/** The folded state of a thread. */
export interface ThreadState {
  readonly threadId: string;
  /** The last folded event. */
  readonly seq: number;
  readonly head: ThreadHead;
  /** Oldest first; `older` leads to earlier ones. */
  readonly turns: readonly FoldedTurn[];
  /** The cursor for older turns; `undefined` if the first turn is loaded. */
  readonly older?: string;
  /** Open questions, earliest first. */
  readonly questions: readonly Question[];
  /** Answers to questions since the page opened the thread, latest last; bounded. */
  readonly decisions: readonly Decision[];
  readonly notices: readonly PlacedNotice[];
  /** Answers to the agent's questions in the loaded turns, in order. */
  readonly answers: readonly PlacedAnswer[];
  readonly steering: readonly Steering[];
  /** The subagents, by their lanes. Those from before the page opened the thread are added once they are loaded. */
  readonly lanes: Lanes;
  /** The last turn that was kept by a rollback. */
  readonly lastKept?: string | undefined;
  /** The other subscribers of the thread, who receive its questions too. */
  readonly others: readonly Subscriber[];
  /**
   * The agent's response to `initialize`, from which `promptCapabilitiesOf` reads the supported prompt contents. It is
   * loaded after the thread; until then only text can be sent.
   */
  readonly initialize?: Json;
  /** The prompts that the agent suggests, as text for the composer. They are about the next prompt only. */
  readonly suggestions?: readonly string[];
  /** Whether the thread was deleted; no event follows. */
  readonly deleted?: boolean;
}

/** An event of the thread, as `Client.follow` delivers it. */
export type { ThreadEvent };

/** The part of a subagent's conversation that is in one turn. */
export interface LaneRow {
  readonly kind: "lane";
  readonly key: string;
  readonly turnId: string | undefined;
  readonly subagent: Subagent;
  /** Its own rows, with those of the subagents that it has created. */
  readonly rows: readonly Row[];
  /** The items of these rows. */
  readonly items: readonly Item[];
  /** Whether the subagent works, in the running turn. */
  readonly live: boolean;
}

/** A row of the conversation. An unchanged row stays the same object, so a delta renders only one row again. */
export type Row =
  | {
      readonly kind: "item";
      readonly key: string;
      readonly turnId: string | undefined;
      readonly item: Item;
      /**
       * Nested items without their own row: a tool call's file changes and commands, linked by `parentItemId` or by the
       * terminals in its content.
       */
      readonly children: readonly Item[];
      /** The answer to acpd's own question that allowed the item, or one in it. */
      readonly decision?: Resolved | undefined;
      /** Whether the agent still works on it. */
      readonly live: boolean;
    }
  | LaneRow
  /** The outcome of a turn: stop reason, error, tokens. Only for completed turns. */
  | { readonly kind: "turnEnd"; readonly key: string; readonly turn: FoldedTurn }
  /** The running turn, after all of its items: the agent is working. */
  | { readonly kind: "working"; readonly key: string; readonly turn: FoldedTurn }
  /** A follow-up for the running turn that the agent has not received yet. */
  | { readonly kind: "steering"; readonly key: string; readonly steering: Steering }
  /** A notice, and notices about details of the same matter. */
  | { readonly kind: "notice"; readonly key: string; readonly notice: Notice; readonly details: readonly Notice[] }
  /** The answer to a question that is about no item: a form, or a question of acpd itself. */
  | { readonly kind: "answer"; readonly key: string; readonly answer: Resolved };
