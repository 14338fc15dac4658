// How much was changed.

import { count } from "../../../text/format.ts";

import "./counts.css";

/** The numbers of added and removed lines. */
export function Counts({ added, removed }: { added: number; removed: number }) {
  if (added + removed === 0) return null;
  return (
    <span class="th-counts" title={`${added} lines added, ${removed} removed`}>
      {added > 0 && <span class="th-added">+{count(added)}</span>}
      {removed > 0 && <span class="th-removed">−{count(removed)}</span>}
    </span>
  );
}
