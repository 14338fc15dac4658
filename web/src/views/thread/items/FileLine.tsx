// A file that was written: one line with the number of changed lines, which opens to the changes.

import type { FileChange, Item, Resolved } from "@acpd/client";

import { changesOf, isUnmade, sumOf } from "../../../state/tool-calls.ts";
import { Counts } from "../content/Counts.tsx";
import { UnifiedDiff } from "../content/diffs.ts";
import { Fold } from "../content/Fold.tsx";
import { Icon } from "../content/Icon.tsx";
import { Path } from "../content/Path.tsx";
import { Status } from "../content/Status.tsx";
import { DecisionChip } from "./DecisionChip.tsx";

export function FileLine({ item, decision }: { item: Item & FileChange; decision?: Resolved | undefined }) {
  const { path, replaced, outcome } = item;
  return (
    <div class="th-tool" data-kind="edit">
      <Fold
        id={item.itemId}
        class="th-line-fold"
        open={outcome == null}
        summary={
          <>
            <Icon name="edit" />
            <Path path={path} />
            {replaced === "nothing" && !isUnmade(item) && <span class="th-tag">new</span>}
            <Counts {...sumOf(changesOf([item]))} />
            <DecisionChip itemId={item.itemId} answer={decision} />
            <Status status={outcome ?? "in_progress"} said={outcome == null ? "writing" : SAID[outcome]} brief={outcome === "completed"} />
          </>
        }
      >
        {() => (
          <div class="th-tool-body">
            <WrittenFile item={item} />
          </div>
        )}
      </Fold>
    </div>
  );
}

/** The content of a written file's line. */
export function WrittenFile({ item }: { item: Item & FileChange }) {
  const { diff, path, replaced } = item;
  return (
    <>
      {replaced === "unknown" && <p class="th-quiet th-note">The previous content cannot be compared as text.</p>}
      {diff != null && diff !== "" ? (
        <UnifiedDiff diff={diff} path={path} named counted />
      ) : (
        replaced !== "unknown" && !isUnmade(item) && <p class="th-quiet th-note">No lines changed</p>
      )}
    </>
  );
}

const SAID = { completed: "written", failed: "not written", interrupted: "interrupted" } as const;
