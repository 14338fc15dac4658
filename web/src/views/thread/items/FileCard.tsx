// A file change.

import type { FileChange, Item } from "@acpd/client";

import { visibleLine } from "../../../text/bidi-guard.ts";
import { UnifiedDiff } from "../content/Diff.tsx";
import { Fold } from "../content/Fold.tsx";
import { Icon } from "../content/Icon.tsx";
import { Path } from "../content/Path.tsx";
import { Status } from "../content/Status.tsx";

/** Maximum length of an unfolded diff, in characters. */
const LARGE = 12_000;

export function FileCard({ item }: { item: Item & FileChange }) {
  const { diff, path, replaced, outcome } = item;
  return (
    <section class="th-card th-file" aria-label={`Change of ${visibleLine(path)}`}>
      <header class="th-card-head">
        <Icon name="edit" />
        <Path path={path} />
        {replaced === "nothing" && <span class="th-tag">new</span>}
        <span class="th-space" />
        <Status status={outcome ?? "in_progress"} said={outcome == null ? "writing" : SAID[outcome]} />
      </header>
      {replaced === "unknown" && (
        <p class="th-quiet th-note">The previous content cannot be compared as text.</p>
      )}
      {diff != null && diff !== "" && (
        <Fold
          id={`${item.itemId}/diff`}
          class="th-diff-fold"
          open={diff.length <= LARGE}
          summary={<span class="th-quiet">Changes</span>}
        >
          {() => <UnifiedDiff diff={diff} path={path} named />}
        </Fold>
      )}
    </section>
  );
}

const SAID = { completed: "written", failed: "not written", interrupted: "interrupted" } as const;
