// The work of a turn, or several reads and searches, as one line that opens to its rows.

import type { Item } from "@acpd/client";
import { useContext, useEffect, useState } from "preact/hooks";

import type { GroupRow, WorkRow } from "../../../state/outline.ts";
import { changesOf, sumOf, tallyOf, wordsOf } from "../../../state/tool-calls.ts";
import { isLongWait, timeOf } from "../../../state/turn-time.ts";
import { count, duration } from "../../../text/format.ts";
import { useThread, Waiting } from "../content/context.ts";
import { Counts } from "../content/Counts.tsx";
import { Chevron } from "../content/Fold.tsx";
import { Icon } from "../content/Icon.tsx";

export function WorkLine({ row }: { row: WorkRow }) {
  const { choose } = useThread();
  const { answers } = useContext(Waiting);
  const tally = tallyOf(row.items, (itemId) => answers?.get(itemId)?.outcome === "declined");
  const { files, added, removed } = row.changes ?? sizeOf(row.items);
  return (
    <button type="button" class="th-work" aria-expanded={row.open} onClick={() => choose?.(row.key, !row.open)}>
      <Chevron />
      <span>
        <Worked row={row} />
        {wordsOf(tally).map((words) => ` · ${words}`)}
        {files > 0 && (
          <>
            {` · ${count(files)} ${files === 1 ? "file" : "files"} `}
            <Counts added={added} removed={removed} />
          </>
        )}
        {tally.rejected > 0 && ` · ${tally.rejected} rejected`}
        {tally.failed > 0 && (
          <>
            {" · "}
            <span class="th-work-failed">{tally.failed} failed</span>
          </>
        )}
      </span>
    </button>
  );
}

/** Returns the size of the changes that were made. */
function sizeOf(items: readonly Item[]): { files: number; added: number; removed: number } {
  const changes = changesOf(items.filter(({ outcome }) => outcome != null));
  return { files: new Set(changes.map(({ path }) => path)).size, ...sumOf(changes) };
}

/** Advances once a second while the turn runs, but not while it waits for the user. */
function Worked({ row }: { row: WorkRow }) {
  const { live, completedAt, waitingSince } = row;
  const counts = live && waitingSince === undefined;
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!counts) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [counts]);
  const verb = live ? "Working" : "Worked";
  const time = live || completedAt !== undefined ? timeOf(row, Math.max(now, waitingSince ?? 0)) : undefined;
  if (time === undefined) return <>{verb}</>;
  const waited = !live && isLongWait(time) ? `, waited ${duration(time.waited)}` : "";
  return <>{`${verb} ${duration(time.worked)}${waited}`}</>;
}

export function GroupLine({ row }: { row: GroupRow }) {
  const { choose } = useThread();
  const words = wordsOf(tallyOf(row.items)).join(", ");
  return (
    <button type="button" class="th-work th-group" aria-expanded={row.open} onClick={() => choose?.(row.key, !row.open)}>
      <Chevron />
      <Icon name={row.items.some((item) => item.type === "toolCall" && item.kind === "read") ? "read" : "search"} />
      <span>{words.charAt(0).toUpperCase() + words.slice(1)}</span>
    </button>
  );
}
