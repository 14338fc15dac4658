// A plan of the agent: completed, current and pending entries, or a text.

import type { Plan as AnyPlan, PlanEntry } from "@acpd/client";

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import { visibleName } from "../../../text/bidi-guard.ts";
import { firstWords, words } from "../../../text/format.ts";
import { Markdown } from "./Markdown.tsx";
import { Path } from "./Path.tsx";

const MARKS: Record<string, string> = { completed: "●", in_progress: "◐", pending: "○" };
const SAID: Record<string, string> = { completed: "done", in_progress: "in progress", pending: "pending", not_done: "not done" };

export interface PlanProps {
  entries: readonly PlanEntry[];
  /** Whether its steps are shown by default. */
  open?: boolean;
  /** Whether its turn has ended: what is not completed was not done. */
  ended?: boolean;
}

export function Plan({ entries, open = true, ended = false }: PlanProps) {
  if (entries.length === 0) return null;
  const done = entries.filter((entry) => entry.status === "completed").length;
  const current = ended ? undefined : entries.find((entry) => entry.status === "in_progress");
  const percent = Math.round((done / entries.length) * 100);
  return (
    <PlanFold
      usual={open}
      current={current?.content ?? ""}
      head={
        <>
          <span class="th-plan-count">
            {done} of {entries.length}
            {ended && " done"}
          </span>
          {!ended && <progress class="th-plan-bar" max={entries.length} value={done} aria-label={`Progress: ${percent}%`} />}
        </>
      }
    >
      {() => (
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
      )}
    </PlanFold>
  );
}

interface PlanViewProps extends Omit<PlanProps, "entries"> {
  plan: AnyPlan;
}

/** A plan of any form. */
export function PlanView({ plan: { entries, markdown, path }, ...props }: PlanViewProps) {
  return markdown == null ? <Plan entries={entries} {...props} /> : <TextPlan text={markdown} path={path ?? undefined} {...props} />;
}

interface TextPlanProps {
  text: string;
  /** The file that contains the plan. */
  path: string | undefined;
  open?: boolean;
}

function TextPlan({ text, path, open = true }: TextPlanProps) {
  return (
    <PlanFold usual={open} current={firstWords(text)} head={path !== undefined && <Path path={path} brief />}>
      {(isOpen) =>
        isOpen && (
          <div class="th-plan-text">
            {path !== undefined && (
              <p class="th-quiet">
                <Path path={path} />
              </p>
            )}
            <Markdown text={text} />
          </div>
        )
      }
    </PlanFold>
  );
}

interface PlanFoldProps {
  /** Whether it is open until the user folds or unfolds it. */
  usual: boolean;
  /** What the plan is about now. */
  current: string;
  head: ComponentChildren;
  children: (isOpen: boolean) => ComponentChildren;
}

/** The frame of a plan of any form. */
function PlanFold({ usual, current, head, children }: PlanFoldProps) {
  const [chosen, choose] = useState<boolean>();
  const open = chosen ?? usual;
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
          {visibleName(current)}
        </span>
        {head}
      </summary>
      {children(open)}
    </details>
  );
}

function statusOf({ status }: PlanEntry, ended: boolean): string {
  return ended && status !== "completed" ? "not_done" : status;
}
