// Shared context of all views in a thread, to avoid passing it as props: the working directory, the diff style, the
// open folds, and the thread's nested items.

import { createContext } from "preact";
import { useContext } from "preact/hooks";

import type { Item, Notice, Resolved } from "@acpd/client";

import type { ThreadActions } from "../../../state/actions.ts";
import type { FoldedTurn } from "../../../state/thread.ts";

export type DiffStyle = "unified" | "split";

export interface ThreadContext {
  /** Absent outside of a thread. */
  readonly threadId?: string;
  /** Paths below this directory are shown relative to it. */
  readonly cwd: string;
  readonly diffStyle: DiffStyle;
  setDiffStyle(style: DiffStyle): void;
  /** The user's choices for folds; they outlive views that scroll out of the page. */
  readonly folds: Map<string, boolean>;
  /** Edits messages of the user, to send them again; absent if the user may not. */
  readonly edits?: MessageEdits | undefined;
  /** Returns the first turn with a message of the user that a rewind to a turn removes. */
  removedBy?(lastKept: string): FoldedTurn | undefined;
  /** Returns the command that runs in one of the thread's terminals. */
  terminal(terminalId: string): Item | undefined;
  /** Acts on running commands; absent if the user may not. */
  readonly terminals?: (Pick<ThreadActions, "typeIn" | "endCommand"> & { readonly online: boolean }) | undefined;
  /** Opens a folder for the thread; absent if the user may not. */
  openFolder?: ((folder: string) => Promise<void>) | undefined;
  /** The thread's agent, if the user may change what all of its threads may do. */
  readonly ownedAgent?: string | undefined;
  /** Opens or closes a row of the conversation that stands for others. */
  choose?(key: string, open: boolean): void;
  /** The row that a search leads to. Its content is open. */
  readonly target?: string | undefined;
  /** Whether the list follows its end. If not, the user may be reading, and nothing closes by itself. */
  readonly following?: { readonly current: boolean };
}

export interface MessageEdits {
  /** Puts a message into the composer. */
  begin(itemId: string): void;
  /** Returns why a message cannot be edited. */
  barred(itemId: string): string | undefined;
}

/** The context of a view outside of a thread. */
export const aloneContext: ThreadContext = {
  cwd: "",
  diffStyle: "unified",
  setDiffStyle: () => {},
  folds: new Map(),
  terminal: () => undefined,
};

export const CurrentThread = createContext<ThreadContext>(aloneContext);

export function useThread(): ThreadContext {
  return useContext(CurrentThread);
}

/** The state that changes often and that few views use: what the thread waits for. */
export interface ThreadWaiting {
  /** Whether the thread waits for the user. */
  readonly waiting: boolean;
  /** The tool calls with an open approval. */
  readonly items: ReadonlySet<string>;
  /** The last answer about each tool call. */
  readonly answers?: ReadonlyMap<string, Resolved>;
  /** The key of the last turn, unless later messages are queued. */
  readonly lastTurn?: string | undefined;
  /** The notices about agents that have exited and had written something before. */
  readonly exits?: readonly Notice[];
  /** The sentence with which the agent refused to open a session, while the card that signs in is shown. */
  readonly signIn?: string | undefined;
  /** Number of subagents that work. */
  readonly subagents?: number;
}

export const Waiting = createContext<ThreadWaiting>({ waiting: false, items: new Set() });
