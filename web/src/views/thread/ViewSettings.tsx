// What a person can set about the views of threads: for the dialog of settings.

import type { DiffStyle } from "./context.ts";
import type { SendKey } from "./ComposerBox.tsx";
import { diffStyle, sendKey } from "./settings.ts";

const KEYS: readonly [SendKey, string][] = [
  ["enter", "Enter"],
  ["modEnter", "Ctrl+Enter"],
];
const STYLES: readonly [DiffStyle, string][] = [
  ["unified", "Unified"],
  ["split", "Side by side"],
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
