// What the user sees of a thread: which rows are open, and where the user is. Kept per thread while the page lives, so
// that a user who returns to a thread finds it as it was.

import { useCallback, useMemo, useReducer, useRef } from "preact/hooks";

import { layOutline, type ShownRow } from "../../state/outline.ts";
import type { Row, ThreadState } from "../../state/thread.ts";
import type { ScrollAnchor } from "../list/Virtual.tsx";

export interface ThreadView {
  /** The user's choices, by the keys of folds and rows. */
  readonly folds: Map<string, boolean>;
  readonly place: { current: ScrollAnchor | undefined };
  readonly following: { current: boolean };
}

/** Maximum number of threads whose view is kept. */
const VIEWS = 50;

const views = new Map<string, ThreadView>();

function viewOf(threadId: string): ThreadView {
  const view = views.get(threadId) ?? { folds: new Map(), place: { current: undefined }, following: { current: true } };
  views.delete(threadId);
  views.set(threadId, view);
  for (const oldest of [...views.keys()].slice(0, -VIEWS)) {
    views.delete(oldest);
  }
  return view;
}

export interface Outline {
  readonly shown: readonly ShownRow[];
  readonly view: ThreadView;
  /** Opens or closes a row that stands for others. */
  readonly choose: (key: string, open: boolean) => void;
}

export function useOutline(thread: ThreadState, rows: readonly Row[], target: string | undefined): Outline {
  const view = useMemo(() => viewOf(thread.threadId), [thread.threadId]);
  const layOut = useMemo(() => layOutline(), [view]);
  const usual = useUsual(view);
  const [version, changed] = useReducer((count: number) => count + 1, 0);
  const choose = useCallback(
    (key: string, open: boolean) => {
      view.folds.set(key, open);
      changed(undefined);
    },
    [view],
  );
  useMemo(() => reveal(view), [view, target]);
  const [first] = rows;
  const partial = thread.older !== undefined && (first?.kind === "lane" || (first?.kind === "item" && first.item.type !== "userMessage"));
  const chosen = useCallback((key: string) => view.folds.get(key), [view, version, target]);
  const shown = useMemo(() => layOut(rows, { chosen, usual, target, partial }), [layOut, rows, chosen, usual, target, partial]);
  return { shown, view, choose };
}

/** Forgets what the user has closed, as a search result may be in it. */
function reveal({ folds }: ThreadView): void {
  for (const [key, open] of folds) {
    if (!open && /^(work|group|lane)-/.test(key)) {
      folds.delete(key);
    }
  }
}

/**
 * Returns a function that decides whether the work of a turn is open. It is open while the turn runs. Then it closes,
 * unless the user has scrolled away from the end, and may be reading it.
 */
function useUsual({ folds, following }: ThreadView): (key: string, unfinished: boolean) => boolean {
  const unfinishedKeys = useRef(new Set<string>());
  return useCallback(
    (key, unfinished) => {
      if (unfinished) {
        unfinishedKeys.current.add(key);
        return true;
      }
      const stays = unfinishedKeys.current.delete(key) && !following.current;
      if (stays) {
        folds.set(key, true);
      }
      return stays;
    },
    [folds, following],
  );
}
