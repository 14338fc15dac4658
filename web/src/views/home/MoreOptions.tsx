/** The rarely used options of a new thread, folded. */

import type { ConfigValue } from "@acpd/client";
import { useState } from "preact/hooks";

import type { Settings } from "../../app/agents.ts";
import { configOption, modesOf } from "../../state/acp.ts";
import { PRESET_NAMES } from "../../state/policy.ts";

/** Maximum length of a system prompt; the daemon takes 256 KiB. */
const MOST_CHARS = 60_000;
/** The value that stands for a default. */
const DEFAULT = "";

export interface Options {
  readonly name: string;
  readonly mode: string;
  readonly config: Readonly<Record<string, ConfigValue>>;
  readonly policy: string;
  /** Instructions for the agent, beside its own. */
  readonly systemPrompt: string;
}

export interface MoreOptionsProps {
  value: Options;
  onChange: (options: Options) => void;
  /** The user sees the options. */
  onUnfold: () => void;
  settings: Settings;
  /** Whether the user may set a policy. */
  owner: boolean;
}

export default function MoreOptions({ value, onChange, onUnfold, settings, owner }: MoreOptionsProps) {
  const [open, setOpen] = useState(false);
  const options = (settings.configOptions ?? []).flatMap((option) => configOption(option) ?? []);
  const modes = modesOf(settings.modes);
  const hasModeOption = options.some((option) => option.category === "mode" && !option.id.startsWith("acpd."));
  const set = (change: Partial<Options>) => onChange({ ...value, ...change });
  const setConfig = (id: string, chosen: ConfigValue | undefined) => {
    const { [id]: _, ...others } = value.config;
    set({ config: chosen === undefined ? others : { ...others, [id]: chosen } });
  };
  const changed = [value.name.trim(), value.mode, value.policy, value.systemPrompt.trim(), ...Object.keys(value.config)].filter(Boolean).length;
  return (
    <details
      class="home-more"
      open={open}
      onToggle={(event) => {
        setOpen(event.currentTarget.open);
        if (event.currentTarget.open) onUnfold();
      }}
    >
      <summary>
        More options
        {changed > 0 && <span class="hint"> {changed} set</span>}
      </summary>
      <div class="home-grid">
        <div>
          <label class="label" for="name">
            Name
          </label>
          <input
            id="name"
            class="field"
            placeholder="Automatic"
            autocomplete="off"
            dir="auto"
            maxLength={200}
            value={value.name}
            onInput={(event) => set({ name: event.currentTarget.value })}
          />
        </div>
        {modes.length > 0 && !hasModeOption && (
          <Choice id="mode" label="Mode" none="Agent default" value={value.mode} choices={modes} onPick={(mode) => set({ mode })} />
        )}
        {options
          .filter(({ id }) => !id.startsWith("acpd."))
          .map(({ id, name, choices }) => (
            <Choice
              key={id}
              id={`option-${id}`}
              label={name}
              none="Agent default"
              value={value.config[id] === undefined ? DEFAULT : String(value.config[id])}
              choices={choices ?? ON_OFF}
              onPick={(chosen) => setConfig(id, chosen === DEFAULT ? undefined : choices ? chosen : chosen === "true")}
            />
          ))}
        {owner && (
          <Choice
            id="policy"
            label="Policy"
            none="Daemon default"
            value={value.policy}
            choices={PRESET_NAMES.map((preset) => ({ value: preset, name: preset }))}
            onPick={(policy) => set({ policy })}
          />
        )}
        <div class="home-instructions">
          <label class="label" for="system-prompt">
            System prompt
          </label>
          <textarea
            id="system-prompt"
            class="field"
            rows={3}
            placeholder="Instructions for the agent, if it takes any"
            dir="auto"
            maxLength={MOST_CHARS}
            value={value.systemPrompt}
            onInput={(event) => set({ systemPrompt: event.currentTarget.value })}
          />
        </div>
      </div>
    </details>
  );
}

const ON_OFF = [
  { value: "true", name: "On" },
  { value: "false", name: "Off" },
];

interface ChoiceProps {
  id: string;
  label: string;
  /** The name of the default. */
  none: string;
  value: string;
  choices: readonly { value: string; name: string }[];
  onPick: (value: string) => void;
}

function Choice({ id, label, none, value, choices, onPick }: ChoiceProps) {
  return (
    <div>
      <label class="label" for={id}>
        {label}
      </label>
      <select id={id} class="field" value={value} onChange={(event) => onPick(event.currentTarget.value)}>
        <option value={DEFAULT}>{none}</option>
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.name}
          </option>
        ))}
      </select>
    </div>
  );
}
