/** The fields that select which threads the list shows. */

import { agents, folders, titleOfAgent } from "../../app/agents.ts";
import { byFolder, filter, threads } from "../../app/threads.ts";
import { shortNames, type ThreadFilter } from "../../state/threads.ts";
import { ACTIVITIES, closeFilters, setFilter } from "./Filters.tsx";

export default function FilterPanel() {
  const { agentType, cwd, status } = filter.value;
  const known = threads.value ?? [];
  const places = [...new Set([...known.map((thread) => thread.cwd), ...folders.value, ...(cwd === undefined ? [] : [cwd])])];
  const names = shortNames(places);
  const types = [...new Set([...known.map((thread) => thread.agentType), ...(agents.value ?? []).filter(({ installed }) => installed).map(({ id }) => id)])];
  return (
    <div
      class="filters"
      id="filters"
      role="group"
      aria-label="Filter"
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          event.preventDefault();
          event.stopPropagation();
          closeFilters();
        }
      }}
    >
      <Choice label="Folder" any="All folders" value={cwd} of={places.map((place) => [place, names.get(place)!])} onPick={(value) => setFilter({ cwd: value })} />
      <Choice label="Agent" any="All agents" value={agentType} of={types.map((type) => [type, titleOfAgent(type)])} onPick={(value) => setFilter({ agentType: value })} />
      <Choice
        label="Status"
        any="Any status"
        value={status}
        of={Object.entries(ACTIVITIES)}
        onPick={(value) => setFilter({ status: value as ThreadFilter["status"] })}
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
