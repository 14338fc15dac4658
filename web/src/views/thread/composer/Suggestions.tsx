// Prompts that the agent suggests, above the empty message. Taking one fills the message and does not send it.

import { visibleName } from "../../../text/bidi-guard.ts";

export function Suggestions(props: { suggestions: readonly string[]; onTake: (words: string) => void }) {
  const { suggestions, onTake } = props;
  if (suggestions.length === 0) return null;
  return (
    <ul class="th-suggestions" aria-label="Suggested prompts">
      {suggestions.map((words, at) => (
        <li key={at}>
          <button
            type="button"
            class="button quiet th-suggestion"
            title={at === 0 ? `${visibleName(words)} (→)` : visibleName(words)}
            onClick={() => onTake(words)}
          >
            <span class="truncate" dir="auto">
              {visibleName(words)}
            </span>
          </button>
        </li>
      ))}
    </ul>
  );
}
