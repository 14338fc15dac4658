// The output of a tool, as it came: its white space counts, and it is not Markdown. Long output is cut until the user
// expands it.

import { useState } from "preact/hooks";

import { count } from "../../../text/format.ts";
import { useThread } from "./context.ts";
import { CodeText } from "./CodeBlock.tsx";
import { CopyButton } from "./CopyButton.tsx";

/** Number of lines shown at first. */
const LINES = 200;

export interface PreformattedProps {
  id: string;
  text: string;
  /** The language of the text, if known. */
  language?: string;
}

export function Preformatted({ id, text, language = "" }: PreformattedProps) {
  const { folds } = useThread();
  const [all, setAll] = useState(() => folds.get(`${id}/all`) === true);
  const whole = unfenced(text);
  const lines = whole.split("\n");
  const cut = !all && lines.length > LINES;
  const showAll = () => {
    folds.set(`${id}/all`, true);
    setAll(true);
  };
  return (
    <div class="th-framed th-preformatted">
      <CodeText code={cut ? lines.slice(0, LINES).join("\n") : whole} language={language} whole name="Output" />
      <CopyButton text={whole} what="output" class="th-copy-corner" />
      {cut && (
        <p class="th-more">
          <span>{count(lines.length - LINES)} more lines</span>
          <button type="button" class="button quiet" data-grows onClick={showAll}>
            Show all
          </button>
        </p>
      )}
    </div>
  );
}

/** Some agents wrap output in a Markdown fence, so that clients show it as it came. */
export function unfenced(text: string): string {
  const inside = /^\s*(`{3,})[\w+-]*\n([\s\S]*?)\n?\1\s*$/.exec(text);
  return inside === null || inside[2]!.includes(`\n${inside[1]}`) ? text.replace(/\n$/, "") : inside[2]!;
}
