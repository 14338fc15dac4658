// The footer of a turn: its outcome, all of its changes, and the actions from here.

import type { Item, Notice, Role } from "@acpd/client";
import { useContext, useEffect, useMemo, useState } from "preact/hooks";

import { focusThread } from "../../../app/focus.ts";
import { touch } from "../../../app/layout.ts";
import type { ThreadActions } from "../../../state/actions.ts";
import type { FoldedTurn } from "../../../state/thread.ts";
import { changesOf } from "../../../state/tool-calls.ts";
import { giveBack } from "../composer/edit-message.ts";
import { useThread, Waiting } from "../content/context.ts";
import { Counts } from "../content/Counts.tsx";
import { UnifiedDiff } from "../content/diffs.ts";
import { Fold } from "../content/Fold.tsx";
import { Icon } from "../content/Icon.tsx";
import { TurnEnd } from "../content/Notice.tsx";
import { Retry, Unsent } from "./Retry.tsx";

export interface TurnFootProps {
  turn: FoldedTurn;
  /** Whether the duration of the turn is already shown above. */
  timed?: boolean;
  threadId: string;
  actions: Pick<ThreadActions, "fork" | "rollback" | "send" | "readDiff">;
  role: Role;
}

export function TurnFoot({ turn, timed = false, threadId, actions, role }: TurnFootProps) {
  const may = role === "operator" || role === "owner";
  const { exits = [], signIn, lastTurn } = useContext(Waiting);
  const wantsSignIn = signIn !== undefined && turn.error === signIn && turn.key === lastTurn;
  return (
    <div class="th-turn-foot">
      <Unsent turn={turn} />
      <TurnDiff turn={turn} read={(id) => actions.readDiff(id)} />
      <TurnEnd turn={turn} timed={timed} lastWords={lastWordsOf(turn, exits)} wantsSignIn={wantsSignIn} />
      {may && <Retry turn={turn} threadId={threadId} actions={actions} wantsSignIn={wantsSignIn} />}
      {turn.id != null && may && <GoOn turnId={turn.id} threadId={threadId} actions={actions} />}
    </div>
  );
}

/** Returns what the agent wrote before it exited, if that ended the turn. */
function lastWordsOf({ status, startedAt, completedAt }: FoldedTurn, exits: readonly Notice[]): string | undefined {
  if (status !== "failed" || completedAt == null) return undefined;
  const from = startedAt ?? completedAt;
  return exits.findLast(({ ts }) => ts != null && ts >= from && ts <= completedAt)?.detail ?? undefined;
}

/** All changes of the turn. They are loaded when they are opened. */
function TurnDiff({ turn: { key, id, changes, items }, read }: { turn: FoldedTurn; read: ThreadActions["readDiff"] }) {
  if (id == null || changes == null || (changes.files === 0 && !changes.incomplete)) return null;
  const { files, added, removed, incomplete } = changes;
  return (
    <section class="th-card th-turn-diff" aria-label="All changes of the turn">
      <Fold
        id={`${key}/diff`}
        class="th-diff-fold"
        reveals
        summary={
          <>
            <span class="th-label">
              {files === 1 ? "1 file changed" : `${files} files changed`}
              {incomplete && ", and more"}
            </span>
            <Counts added={added} removed={removed} />
          </>
        }
      >
        {() => <LoadedDiff load={() => read(id)} items={items} />}
      </Fold>
    </section>
  );
}

function LoadedDiff({ load, items }: { load: () => Promise<string>; items: readonly Item[] }) {
  const [diff, setDiff] = useState<string>();
  const [error, setError] = useState<string>();
  const begin = () => {
    setError(undefined);
    load().then(setDiff, (why: unknown) => setError(why instanceof Error ? why.message : String(why)));
  };
  useEffect(begin, []);
  const paths = useMemo(() => changesOf(items).map(({ path }) => path), [items]);
  if (error !== undefined) {
    return (
      <p class="error-text" role="alert">
        Couldn’t load the changes: {error}{" "}
        <button type="button" class="button quiet" onClick={begin}>
          Try again
        </button>
      </p>
    );
  }
  return diff === undefined ? <p class="th-quiet">Loading…</p> : <UnifiedDiff diff={diff} paths={paths} />;
}

/**
 * A fork leaves this thread unchanged; a rollback drops the later turns, so it requires confirmation. Where nothing
 * hovers, one button per turn opens them.
 */
function GoOn({ turnId, threadId, actions }: { turnId: string; threadId: string; actions: TurnFootProps["actions"] }) {
  const [asking, setAsking] = useState(false);
  const [opened, setOpened] = useState(false);
  const folds = touch.value;
  const [error, setError] = useState<string>();
  const { removedBy } = useThread();
  const attempt = (what: Promise<void>) => {
    setAsking(false);
    setError(undefined);
    what.catch((why: unknown) => setError(why instanceof Error ? why.message : String(why)));
  };
  const rewind = async () => {
    const removed = removedBy?.(turnId);
    await actions.rollback(turnId);
    if (removed !== undefined) giveBack(threadId, removed);
    focusAfterRewind(threadId);
  };
  return (
    <div class={`th-go-on ${asking || error !== undefined ? "th-shown" : ""} ${opened ? "is-open" : ""}`}>
      {asking ? (
        <>
          <span class="th-quiet" role="alert">
            Remove everything after this turn? Files will not change.
          </span>
          <button type="button" class="button danger" onClick={() => attempt(rewind())}>
            Remove
          </button>
          <button type="button" class="button quiet" onClick={() => setAsking(false)}>
            Cancel
          </button>
        </>
      ) : (
        <>
          {folds && (
            <button
              type="button"
              class="button quiet icon"
              aria-label="More about this turn"
              aria-expanded={opened}
              onClick={() => setOpened(!opened)}
            >
              <Icon name="more" />
            </button>
          )}
          {(!folds || opened) && (
            <>
              <button type="button" class="button quiet" onClick={() => attempt(actions.fork(turnId))}>
                Fork from here
              </button>
              <button type="button" class="button quiet" onClick={() => setAsking(true)}>
                Rewind to here
              </button>
            </>
          )}
        </>
      )}
      {error !== undefined && (
        <span class="error-text" role="alert">
          {error}
        </span>
      )}
    </div>
  );
}

/** The button that had the focus is gone; the user writes next, unless they have moved on. */
function focusAfterRewind(threadId: string): void {
  if (document.activeElement === document.body) focusThread(threadId, "composer");
}
