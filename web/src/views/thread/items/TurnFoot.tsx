// The footer of a turn: its outcome, all of its changes, and the actions from here.

import type { FileChange, Item, Role } from "@acpd/client";
import { useState } from "preact/hooks";

import type { ThreadActions } from "../../../state/actions.ts";
import type { FoldedTurn } from "../../../state/thread.ts";
import { changesOf, sumOf } from "../../../state/tool-calls.ts";
import { Counts, UnifiedDiff } from "../content/Diff.tsx";
import { Fold } from "../content/Fold.tsx";
import { TurnEnd } from "../content/Notice.tsx";
import { Retry, Unsent } from "./Retry.tsx";

export interface TurnFootProps {
  turn: FoldedTurn;
  /** Whether the duration of the turn is already shown above. */
  timed?: boolean;
  threadId: string;
  actions: Pick<ThreadActions, "fork" | "rollback" | "send">;
  role: Role;
}

export function TurnFoot({ turn, timed = false, threadId, actions, role }: TurnFootProps) {
  const may = role === "operator" || role === "owner";
  return (
    <div class="th-turn-foot">
      <Unsent turn={turn} />
      <TurnDiff turn={turn} />
      <TurnEnd turn={turn} timed={timed} />
      {may && <Retry turn={turn} threadId={threadId} actions={actions} />}
      {turn.id != null && may && <GoOn turnId={turn.id} actions={actions} />}
    </div>
  );
}

/** All changes of the turn, file by file; a file that was changed several times has one diff for each of them. */
function TurnDiff({ turn: { key: id, items } }: { turn: FoldedTurn }) {
  const written = items.filter(
    (item): item is Item & FileChange => item.type === "fileChange" && item.outcome === "completed" && Boolean(item.diff),
  );
  const files = [...new Set(written.map(({ path }) => path))];
  if (files.length === 0) return null;
  return (
    <section class="th-card th-turn-diff" aria-label="All changes of the turn">
      <Fold
        id={`${id}/diff`}
        class="th-diff-fold"
        summary={
          <>
            <span class="th-label">{files.length === 1 ? "1 file changed" : `${files.length} files changed`}</span>
            <Counts {...sumOf(changesOf(written))} />
          </>
        }
      >
        {() => files.flatMap((path) => written.filter((item) => item.path === path)).map((item) => <UnifiedDiff key={item.itemId} diff={item.diff!} path={item.path} />)}
      </Fold>
    </section>
  );
}

/** A fork leaves this thread unchanged; a rollback drops the later turns, so it requires confirmation. */
function GoOn({ turnId, actions }: { turnId: string; actions: TurnFootProps["actions"] }) {
  const [asking, setAsking] = useState(false);
  const [error, setError] = useState<string>();
  const attempt = (what: Promise<void>) => {
    setAsking(false);
    setError(undefined);
    what.catch((why: unknown) => setError(why instanceof Error ? why.message : String(why)));
  };
  return (
    <div class={`th-go-on ${asking || error !== undefined ? "th-shown" : ""}`}>
      {asking ? (
        <>
          <span class="th-quiet" role="alert">
            Remove everything after this turn? Files will not change.
          </span>
          <button type="button" class="button danger" onClick={() => attempt(actions.rollback(turnId))}>
            Remove
          </button>
          <button type="button" class="button quiet" onClick={() => setAsking(false)}>
            Cancel
          </button>
        </>
      ) : (
        <>
          <button type="button" class="button quiet" onClick={() => attempt(actions.fork(turnId))}>
            Fork from here
          </button>
          <button type="button" class="button quiet" onClick={() => setAsking(true)}>
            Rewind to here
          </button>
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
