// A block of code: its language, its text, highlighted once it is complete, and a button to copy it.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { highlight } from "../../../text/highlight.ts";
import { visibleLine, visibleOrder } from "../../../text/bidi-guard.ts";
import { CopyButton } from "./CopyButton.tsx";

export interface CodeProps {
  code: string;
  language: string;
  /** Whether the code is complete; only then it is highlighted. */
  whole: boolean;
  /** The name of the text for screen readers. */
  name?: string;
}

export function CodeBlock({ code, language, whole }: CodeProps) {
  return (
    <div class="th-code">
      <div class="th-code-head">
        <span class="th-code-language">{visibleLine(language || "text")}</span>
        <CopyButton text={code} what="code" />
      </div>
      <CodeText code={code} language={language} whole={whole} />
    </div>
  );
}

/** The code without the frame. */
export function CodeText({ code, language, whole, name = "Code" }: CodeProps) {
  const place = useRef<HTMLElement>(null);
  const shown = visibleOrder(code);
  // Sets the text by hand, so that highlighting does not interfere: one text node, to which more is appended.
  useLayoutEffect(() => {
    const element = place.current;
    if (element === null || element.textContent === shown) return;
    const only = element.childNodes.length === 1 ? element.firstChild : null;
    if (only instanceof Text && shown.startsWith(only.data)) only.appendData(shown.slice(only.data.length));
    else element.textContent = shown;
  }, [shown]);
  useEffect(() => {
    if (!whole) return;
    let wanted = true;
    void highlight(shown, language).then(
      (coloured) => {
        if (wanted && coloured !== undefined) place.current?.replaceChildren(coloured);
      },
      // Without its grammar, code stays plain.
      () => {},
    );
    return () => {
      wanted = false;
    };
  }, [shown, language, whole]);
  return (
    <pre class="th-pre th-code-text" tabIndex={0} role="group" aria-label={language ? `${name}, ${language}` : name}>
      <code ref={place} />
    </pre>
  );
}
