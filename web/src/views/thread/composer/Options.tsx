// The settings of an agent: its mode, and its options by category.

import type { ConfigValue } from "@acpd/client";

import { visibleWords } from "../../../text/bidi-guard.ts";
import { type AcpObject, type Choice, configOption } from "../../../state/acp.ts";
import { Picker } from "./Picker.tsx";

export interface ModeSelectProps {
  modeId: string;
  modes: readonly Choice[];
  onPick: (modeId: string) => void;
  disabled?: boolean;
}

export function ModeSelect({ modeId, modes, onPick, disabled = false }: ModeSelectProps) {
  if (modes.length === 0) return null;
  return <Picker label="Mode" category="mode" value={modeId} choices={modes} onPick={onPick} disabled={disabled} />;
}

export interface ConfigOptionsProps {
  /** ACP's `SessionConfigOption` objects. */
  options: readonly AcpObject[];
  onSet: (configId: string, value: ConfigValue) => void;
  disabled?: boolean;
}

/** ACP's categories first, in this order; then the agent's own ones, then options without a category. */
const ORDER = ["mode", "model", "thought_level"];

export function ConfigOptions({ options, onSet, disabled = false }: ConfigOptionsProps) {
  const known = options.flatMap((option) => configOption(option) ?? []);
  const sorted = known
    .map((option, at) => ({ option, at, rank: rank(option.category) }))
    .sort((a, b) => a.rank - b.rank || a.at - b.at);
  return (
    <div class="th-options" role="group" aria-label="The agent's options">
      {sorted.map(({ option }) =>
        typeof option.value === "boolean" ? (
          <button
            key={option.id}
            type="button"
            class="th-toggle"
            role="switch"
            aria-checked={option.value}
            title={visibleWords(option.description ?? option.name)}
            disabled={disabled}
            data-category={option.category}
            onClick={() => onSet(option.id, option.value !== true)}
          >
            <span class="th-toggle-track" aria-hidden="true" />
            {option.name}
          </button>
        ) : (
          <Picker
            key={option.id}
            label={option.name}
            category={option.category}
            description={option.description}
            value={option.value}
            choices={option.choices ?? []}
            onPick={(value) => onSet(option.id, value)}
            disabled={disabled}
          />
        ),
      )}
    </div>
  );
}

function rank(category: string | undefined): number {
  if (category === undefined) return ORDER.length + 1;
  const at = ORDER.indexOf(category);
  return at === -1 ? ORDER.length : at;
}
