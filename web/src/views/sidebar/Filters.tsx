/** The selection of threads that the list and the search show, by folder, agent and activity. */

import { signal } from "@preact/signals";

import { agents, folders, titleOfAgent } from "../../app/agents.ts";
import { byFolder, filter, folderNames, threads } from "../../app/threads.ts";
import { shortNames, type ThreadFilter } from "../../state/threads.ts";
import { Icon } from "../parts/Icon.tsx";

const open = signal(false);

const ACTIVITIES: Record<NonNullable<ThreadFilter["status"]>, string> = {
  waiting: "Waiting for approval",
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

function set(change: ThreadFilter): void {
  const next = { ...filter.peek(), ...change };
  filter.value = Object.fromEntries(Object.entries(next).filter(([, value]) => value !== undefined));
}

function Panel() {
  const { agentType, cwd, status } = filter.value;
  const known = threads.value ?? [];
  const places = [...new Set([...known.map((thread) => thread.cwd), ...folders.value, ...(cwd === undefined ? [] : [cwd])])];
  const names = shortNames(places);
  const types = [...new Set([...known.map((thread) => thread.agentType), ...(agents.value ?? []).filter(({ installed }) => installed).map(({ id }) => id)])];
  return (
    <div class="filters" id="filters" role="group" aria-label="Filter">
      <Choice label="Folder" any="All folders" value={cwd} of={places.map((place) => [place, names.get(place) ?? place])} onPick={(value) => set({ cwd: value })} />
      <Choice label="Agent" any="All agents" value={agentType} of={types.map((type) => [type, titleOfAgent(type)])} onPick={(value) => set({ agentType: value })} />
      <Choice
        label="Status"
        any="Any status"
        value={status}
        of={Object.entries(ACTIVITIES)}
        onPick={(value) => set({ status: value as ThreadFilter["status"] })}
      />
      <label class="check">
        <input type="checkbox" checked={byFolder.value} onChange={(event) => (byFolder.value = event.currentTarget.checked)} />
        Group by folder
      </label>
    </div>
  );
}

interface ChoiceProps {
  label: string;
  any: string;
  value: string | undefined;
  of: readonly (readonly [value: string, name: string])[];
  onPick: (value: string | undefined) => void;
}

function Choice({ label, any, value, of, onPick }: ChoiceProps) {
  return (
    <select
      class="field"
      aria-label={label}
      value={value ?? ""}
      onChange={(event) => onPick(event.currentTarget.value || undefined)}
    >
      <option value="">{any}</option>
      {[...of]
        .sort(([, one], [, other]) => (label === "Status" ? 0 : one.localeCompare(other)))
        .map(([id, name]) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
    </select>
  );
}

/** The active filters, each with a button that removes it. */
function Chips() {
  const { agentType, cwd, status } = filter.value;
  const chips: [string, ThreadFilter][] = [];
  if (cwd !== undefined) chips.push([folderNames.value.get(cwd) ?? cwd, { cwd: undefined }]);
  if (agentType !== undefined) chips.push([titleOfAgent(agentType), { agentType: undefined }]);
  if (status !== undefined) chips.push([ACTIVITIES[status], { status: undefined }]);
  if (chips.length === 0) {
    return null;
  }
  return (
    <ul class="chips" role="list" aria-label="Active filters">
      {chips.map(([name, without]) => (
        <li key={name}>
          <button type="button" class="chip" aria-label={`Remove the filter ${name}`} onClick={() => set(without)}>
            <bdi class="truncate">{name}</bdi>
            <Icon name="close" size={11} />
          </button>
        </li>
      ))}
    </ul>
  );
}
