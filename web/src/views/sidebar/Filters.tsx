/** The selection of threads that the list and the search show, by folder, agent and activity. */

import { signal } from "@preact/signals";

import { titleOfAgent } from "../../app/agents.ts";
import { filter, folderNames } from "../../app/threads.ts";
import type { ThreadFilter } from "../../state/threads.ts";
import { visibleLine } from "../../text/bidi-guard.ts";
import { Icon } from "../parts/Icon.tsx";
import { lazy } from "../parts/lazy.tsx";

const Panel = lazy(() => import("./FilterPanel.tsx"));

const open = signal(false);

export const ACTIVITIES: Record<NonNullable<ThreadFilter["status"]>, string> = {
  waiting: "Waiting for you",
  running: "Running",
  failed: "Failed",
  idle: "Idle",
};

/** Shows and hides the filters. */
export function FilterButton() {
  const count = Object.keys(filter.value).length;
  return (
    <button
      type="button"
      class={count > 0 ? "button quiet icon side-filter is-on" : "button quiet icon side-filter"}
      aria-label={count > 0 ? `Filter: ${count} active` : "Filter"}
      title="Filter and group"
      aria-expanded={open.value}
      aria-controls="filters"
      onClick={() => (open.value = !open.value)}
    >
      <Icon name="filter" />
    </button>
  );
}

export function Filters() {
  return open.value ? <Panel /> : <Chips />;
}

/** Hides the filters, and gives the focus back to their button. */
export function closeFilters(): void {
  open.value = false;
  document.querySelector<HTMLElement>(".side-filter")?.focus();
}

export function setFilter(change: ThreadFilter): void {
  const next = { ...filter.peek(), ...change };
  filter.value = Object.fromEntries(Object.entries(next).filter(([, value]) => value !== undefined));
}

/** The active filters, each with a button that removes it. */
function Chips() {
  const { agentType, cwd, status } = filter.value;
  const chips: [string, ThreadFilter][] = [];
  if (cwd !== undefined) chips.push([folderNames.value.get(cwd) ?? visibleLine(cwd), { cwd: undefined }]);
  if (agentType !== undefined) chips.push([titleOfAgent(agentType), { agentType: undefined }]);
  if (status !== undefined) chips.push([ACTIVITIES[status], { status: undefined }]);
  if (chips.length === 0) {
    return null;
  }
  return (
    <ul class="chips" role="list" aria-label="Active filters">
      {chips.map(([name, without]) => (
        <li key={name}>
          <button type="button" class="chip" aria-label={`Remove the filter ${name}`} onClick={() => setFilter(without)}>
            <bdi class="truncate">{name}</bdi>
            <Icon name="close" size={11} />
          </button>
        </li>
      ))}
    </ul>
  );
}
