// What the agent sent and received in a tool call, for those who want to know: behind the "⋯" of its line.

import { useId, useState } from "preact/hooks";

import { isObject } from "../../../state/acp.ts";
import { useThread } from "../content/context.ts";
import { Icon } from "../content/Icon.tsx";
import { Json } from "../content/RawJson.tsx";

interface RawDetailsProps {
  id: string;
  input: unknown;
  output: unknown;
}

/** Returns the button and the content that it shows, or nothing if there is no content. */
export function useRawDetails({ id, input, output }: RawDetailsProps) {
  const { folds } = useThread();
  const [open, setOpen] = useState(() => folds.get(`${id}/raw`) === true);
  const place = useId();
  const parts = [
    ["Parameters", input],
    ["Result", output],
  ] as const;
  const known = parts.filter(([, value]) => value != null && !(isObject(value) && Object.keys(value).length === 0));
  if (known.length === 0) return {};
  const name = known.map(([label]) => label).join(" and ");
  const toggle = () => {
    folds.set(`${id}/raw`, !open);
    setOpen(!open);
  };
  return {
    button: (
      <button type="button" class="th-copy" aria-label={name} title={name} aria-expanded={open} aria-controls={place} onClick={toggle}>
        <Icon name="more" />
      </button>
    ),
    details: open && (
      <dl class="th-raw th-raw-details" id={place}>
        {known.map(([label, value]) => (
          <div key={label}>
            <dt class="th-label">{label}</dt>
            <dd>
              <Json value={value} what={label} />
            </dd>
          </div>
        ))}
      </dl>
    ),
  };
}
