/**
 * A thread as views see it. The parts are the protocol's own types; what stands here is how they hang together once
 * events are folded in. Everything is read-only: a change makes new objects along the way to it and keeps all others, so
 * that `===` says whether a view has to be drawn again.
 */

import type {
  Approval,
  InputWanted,
  Item,
  Notice,
  Permitted,
  Remembered,
  Resolved,
  Revoked,
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

/** Words that this page has sent and that no event has confirmed yet. */
export interface Sending {
  readonly clientTurnId: string;
  readonly text: string;
  /** Why it was not taken; without it, it is on its way. */
  readonly error?: string;
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
  /** It is gone for good; nothing follows. */
  readonly deleted?: boolean;
}

/** Words for the fold: an event of the thread, as `Client.follow` hands it on. */
export type { ThreadEvent };

/** What stands in a line of the conversation. Rows are cached: the same row is the same object. */
export type Row =
  | { readonly kind: "item"; readonly key: string; readonly turn: FoldedTurn; readonly item: Item }
  /** How a turn ended: stop reason, error, tokens. Only of turns that are over. */
  | { readonly kind: "turnEnd"; readonly key: string; readonly turn: FoldedTurn }
  /** The turn goes on; stands last. */
  | { readonly kind: "working"; readonly key: string; readonly turn: FoldedTurn }
  | { readonly kind: "notice"; readonly key: string; readonly notice: Notice };
