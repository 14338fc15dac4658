// What every view of a thread may need to know and none should have to be handed: where the thread works, how diffs are to
// be shown, which folds are open, and the things of the thread that stand inside other things.

import { createContext } from "preact";
import { useContext } from "preact/hooks";

import type { Item } from "@acpd/client";

export type DiffStyle = "unified" | "split";

export interface ThreadContext {
  /** Paths below it are shown without it. */
  readonly cwd: string;
  readonly diffStyle: DiffStyle;
  setDiffStyle(style: DiffStyle): void;
  /** What a person has opened or shut; outlives views that scroll out of the page. */
  readonly folds: Map<string, boolean>;
  /** The command that runs in one of the thread's terminals. */
  terminal(terminalId: string): Item | undefined;
}

/** Enough for a view by itself. */
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

/** Whether the thread waits for a person. By itself, since it changes often and hardly any view wants to know. */
export const Waiting = createContext(false);
