// Unknown data as received: folded, but never omitted.

import { visible, visibleWords } from "../../../text/bidi-guard.ts";
import { CopyButton } from "./CopyButton.tsx";
import { Fold } from "./Fold.tsx";

/** Maximum number of shown characters. Copying copies everything. */
const SHOWN = 100_000;

export interface RawProps {
  id: string;
  /** The name of the data. */
  label: string;
  value: unknown;
  open?: boolean;
  /** Whether a user decides on it. */
  decided?: boolean;
}

export function RawJson({ id, label, value, open = false, decided = false }: RawProps) {
  return (
    <Fold id={id} summary={<span class="th-label">{label}</span>} open={open} class="th-raw">
      {() => <Json value={value} what={label} decided={decided} />}
    </Fold>
  );
}

/** A formatted value. A string is shown as text. */
export function Json({ value, what, decided = false }: { value: unknown; what: string; decided?: boolean }) {
  const written = write(value);
  const shown = written.slice(0, SHOWN);
  const left = written.length - SHOWN;
  return (
    <div class="th-framed">
      <pre class="th-pre" tabIndex={0} role="group" aria-label={what}>
        {decided ? visible(shown) : visibleWords(shown)}
        {left > 0 && `\n… ${left} more characters`}
      </pre>
      <CopyButton text={written} what={what} class="th-copy-corner" />
    </div>
  );
}

export function write(value: unknown): string {
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value, null, 2) ?? "nothing";
  } catch {
    return String(value);
  }
}
