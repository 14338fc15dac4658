// The agent's plan: completed, current and pending entries.

import type { PlanEntry } from "@acpd/client";

import { useState } from "preact/hooks";

import { visibleName } from "../../../text/bidi-guard.ts";
import { words } from "../../../text/format.ts";

const MARKS: Record<string, string> = { completed: "●", in_progress: "◐", pending: "○" };
const SAID: Record<string, string> = { completed: "done", in_progress: "in progress", pending: "pending", not_done: "not done" };

export interface PlanProps {
  entries: readonly PlanEntry[];
  /** Whether its steps are shown by default. */
  open?: boolean;
  /** Whether its turn has ended: what is not completed was not done. */
  ended?: boolean;
}

export function Plan({ entries, open: usual = true, ended = false }: PlanProps) {
  const [chosen, choose] = useState<boolean>();
  const open = chosen ?? usual;
  if (entries.length === 0) return null;
  const done = entries.filter((entry) => entry.status === "completed").length;
  const current = ended ? undefined : entries.find((entry) => entry.status === "in_progress");
  const percent = Math.round((done / entries.length) * 100);
  return (
    <details
      class="th-plan"
      open={open}
      aria-label="The agent's plan"
      onToggle={(event) => event.currentTarget.open !== open && choose(event.currentTarget.open)}
    >
      <summary class="th-plan-head">
        <h3>Plan</h3>
        <span class="th-quiet th-plan-current" dir="auto">
          {visibleName(current?.content ?? "")}
        </span>
        <span class="th-plan-count">
          {done} of {entries.length}
          {ended && " done"}
        </span>
        {!ended && <progress class="th-plan-bar" max={entries.length} value={done} aria-label={`Progress: ${percent}%`} />}
      </summary>
      <ol class="th-plan-entries" role="list">
        {entries.map((entry, at) => (
          <li key={at} class="th-plan-entry" data-status={statusOf(entry, ended)}>
            <span class="th-plan-mark" aria-hidden="true">
              {MARKS[statusOf(entry, ended)] ?? "○"}
            </span>
            <span class="th-plan-content" dir="auto">
              {visibleName(entry.content)}
            </span>
            {/* The usual priority is omitted. */}
            {entry.priority !== "medium" && entry.priority !== "" && (
              <span class="th-tag" data-priority={entry.priority}>
                {words(entry.priority)}
              </span>
            )}
            <span class="th-plan-status">{SAID[statusOf(entry, ended)] ?? words(entry.status)}</span>
          </li>
        ))}
      </ol>
    </details>
  );
}

function statusOf({ status }: PlanEntry, ended: boolean): string {
  return ended && status !== "completed" ? "not_done" : status;
}
