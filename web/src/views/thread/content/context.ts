// Shared context of all views in a thread, to avoid passing it as props: the working directory, the diff style, the
// open folds, and the thread's nested items.

import { createContext } from "preact";
import { useContext } from "preact/hooks";

import type { Item } from "@acpd/client";

export type DiffStyle = "unified" | "split";

export interface ThreadContext {
  /** Paths below this directory are shown relative to it. */
  readonly cwd: string;
  readonly diffStyle: DiffStyle;
  setDiffStyle(style: DiffStyle): void;
  /** The user's choices for folds; they outlive views that scroll out of the page. */
  readonly folds: Map<string, boolean>;
  /** Returns the command that runs in one of the thread's terminals. */
  terminal(terminalId: string): Item | undefined;
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

/** Whether the thread waits for the user. Separate, since it changes often and few views use it. */
export const Waiting = createContext(false);
