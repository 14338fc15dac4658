// The settings of thread views, for the settings dialog.

import type { DiffStyle } from "./content/context.ts";
import { diffStyle, type SendKey, sendKey } from "./content/settings.ts";

const KEYS: readonly [SendKey, string][] = [
  ["enter", "Enter"],
  ["modEnter", "Ctrl+Enter"],
];
const STYLES: readonly [DiffStyle, string][] = [
  ["unified", "Unified"],
  ["split", "Split"],
];

export function ViewSettings() {
  return (
    <>
      <fieldset class="setting">
        <legend>Send with</legend>
        <div class="segments">
          {KEYS.map(([value, words]) => (
            <label key={value}>
              <input type="radio" name="send-key" checked={sendKey.value === value} onChange={() => (sendKey.value = value)} />
              <span>{words}</span>
            </label>
          ))}
        </div>
      </fieldset>
      <fieldset class="setting">
        <legend>Diff view</legend>
        <div class="segments">
          {STYLES.map(([value, words]) => (
            <label key={value}>
              <input type="radio" name="diff-style" checked={diffStyle.value === value} onChange={() => (diffStyle.value = value)} />
              <span>{words}</span>
            </label>
          ))}
        </div>
      </fieldset>
    </>
  );
}
