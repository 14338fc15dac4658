/**
 * A thread as views see it. The parts are the protocol's own types; what stands here is how they hang together once
 * events are folded in. Everything is read-only: a change makes new objects along the way to it and keeps all others, so
 * that `===` says whether a view has to be drawn again.
 */

import type {
  Approval,
  InputWanted,
  Item,
  Json,
  Notice,
  Permitted,
  Remembered,
  Resolved,
  Revoked,
  Subscriber,
  Thread,
  ThreadEvent,
  Turn,
} from "@acpd/client";

/** A turn with its items. A turn without an `id` holds what came outside of any. */
export interface FoldedTurn extends Omit<Turn, "items"> {
  /** Stable, also where there is no `id`: for lists. */
  readonly key: string;
  readonly items: readonly Item[];
  /** Unified: all changes of files in the turn so far. */
  readonly diff?: string;
  /** What was sent, of a turn that waits and that this page has sent: the daemon says it once the turn begins. */
  readonly words?: string;
  /** Whether it was asked to stop and has not yet. */
  readonly interrupting?: boolean;
}

/** Everything of the thread but its turns: name, status, plan, mode, config options, commands, tokens. */
export type ThreadHead = Readonly<Omit<Thread, "turns" | "cursor">>;

/** What the agent asks and nobody has answered yet. */
export type Question =
  | {
      readonly method:
        | "item/commandExecution/requestApproval"
        | "item/fileChange/requestApproval"
        | "item/permissions/requestApproval";
      readonly params: Approval;
    }
  | { readonly method: "item/tool/requestUserInput"; readonly params: InputWanted };

/** A decision, for the audit trail: who allowed or refused what, under which rule. */
export type Decision =
  | { readonly method: "serverRequest/resolved"; readonly params: Resolved; readonly question?: Question }
  | { readonly method: "policy/permitted"; readonly params: Permitted }
  | { readonly method: "policy/remembered"; readonly params: Remembered }
  | { readonly method: "policy/revoked"; readonly params: Revoked };

/** Words that somebody said into the running turn and that the agent has not taken up yet. */
export interface Steering {
  readonly seq: number;
  readonly turnId: string | undefined;
  readonly text: string;
}

/** A notice with its place: it stands after what was there when it came. */
export interface PlacedNotice {
  readonly notice: Notice;
  /** The item that it follows; none if it came before all of them. */
  readonly afterItemId?: string;
}

/** A thread, folded. */
export interface ThreadState {
  readonly threadId: string;
  /** The last event that is in it. */
  readonly seq: number;
  readonly head: ThreadHead;
  /** Oldest first; those before are reached by `older`. */
  readonly turns: readonly FoldedTurn[];
  /** Leads to older turns; none if the first is there. */
  readonly older?: string;
  /** Open questions, the earliest first. */
  readonly questions: readonly Question[];
  /** How questions were answered since the page looks on, the latest last; bounded. */
  readonly decisions: readonly Decision[];
  readonly notices: readonly PlacedNotice[];
  readonly steering: readonly Steering[];
  /** Who else follows the thread now: those who are asked first. */
  readonly others: readonly Subscriber[];
  /**
   * The agent's answer to `initialize`: what prompts may have in them, for `promptCapabilitiesOf`. It is learnt after the
   * thread is there, so that it may be missing for a moment: then only text may be sent.
   */
  readonly initialize?: Json;
  /** It is gone for good; nothing follows. */
  readonly deleted?: boolean;
}

/** Words for the fold: an event of the thread, as `Client.follow` hands it on. */
export type { ThreadEvent };

/**
 * What stands in a line of the conversation. The same row is the same object for as long as nothing in it changes, so
 * that a delta draws one row again and no other.
 */
export type Row =
  | {
      readonly kind: "item";
      readonly key: string;
      readonly turnId: string | undefined;
      readonly item: Item;
      /**
       * What happened inside of it and has no row of its own: changes of files and commands of a tool call, whether they
       * name it as `parentItemId` or are the terminals that its content names.
       */
      readonly children: readonly Item[];
      /** Whether the agent still writes it, or works on it. */
      readonly live: boolean;
    }
  /** How a turn ended: stop reason, error, tokens. Only of turns that are over. */
  | { readonly kind: "turnEnd"; readonly key: string; readonly turn: FoldedTurn }
  /** A turn that waits for those before it. */
  | { readonly kind: "queued"; readonly key: string; readonly turn: FoldedTurn }
  /** The running turn, after all of its items: the agent is at work. */
  | { readonly kind: "working"; readonly key: string; readonly turn: FoldedTurn }
  /** Words for the running turn that the agent has not taken up yet. */
  | { readonly kind: "steering"; readonly key: string; readonly steering: Steering }
  | { readonly kind: "notice"; readonly key: string; readonly notice: Notice };
