// A key that an agent needs. It is handed on once and kept nowhere in the page.

import { useId, useState } from "preact/hooks";

import { visible, visibleLine } from "../../text/visible.ts";
import { Icon } from "./Icon.tsx";

export interface ApiKeyProps {
  /** What it is for: "OpenAI". */
  title: string;
  description?: string;
  onSubmit: (key: string) => void;
  onCancel?: () => void;
  sending?: boolean;
  error?: string | undefined;
}

export function ApiKey({ title, description, onSubmit, onCancel, sending = false, error }: ApiKeyProps) {
  const id = useId();
  const [key, setKey] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    const trimmed = key.trim();
    if (trimmed === "" || sending) return;
    setKey("");
    onSubmit(trimmed);
  };
  return (
    <form class="th-card th-api-key" onSubmit={submit} autocomplete="off">
      <label class="th-approval-head" for={id}>
        <Icon name="key" />
        <h3>{visibleLine(title)}</h3>
      </label>
      {description !== undefined && <p class="th-quiet">{visible(description)}</p>}
      <input
        id={id}
        class="field mono"
        type="password"
        value={key}
        disabled={sending}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        aria-invalid={error !== undefined}
        aria-describedby={`${id}-error`}
        onInput={(event) => setKey(event.currentTarget.value)}
      />
      <p class="error-text" id={`${id}-error`} role="alert">
        {error}
      </p>
      <div class="th-answers">
        <button type="submit" class="button primary" disabled={sending || key.trim() === ""}>
          Use this key
        </button>
        {onCancel !== undefined && (
          <button type="button" class="button quiet" disabled={sending} onClick={onCancel}>
            Cancel
          </button>
        )}
      </div>
    </form>
  );
}
