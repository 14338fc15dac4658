// A block of code: its language, its text, coloured once it is whole, and a button that copies it.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { highlight } from "../../../text/highlight.ts";
import { visibleOrder } from "../../../text/bidi-guard.ts";
import { CopyButton } from "./CopyButton.tsx";

export interface CodeProps {
  code: string;
  language: string;
  /** Whether no more of it comes; it is coloured only then. */
  whole: boolean;
}

export function CodeBlock({ code, language, whole }: CodeProps) {
  return (
    <div class="th-code">
      <div class="th-code-head">
        <span class="th-code-language">{language || "text"}</span>
        <CopyButton text={code} what="code" />
      </div>
      <CodeText code={code} language={language} whole={whole} />
    </div>
  );
}

/** The code alone. */
export function CodeText({ code, language, whole }: CodeProps) {
  const place = useRef<HTMLElement>(null);
  const shown = visibleOrder(code);
  // The text is written by hand, so that colours do not stand in the way of it: one node, to which more is appended.
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
    <pre class="th-pre th-code-text" tabIndex={0} role="group" aria-label={language ? `Code, ${language}` : "Code"}>
      <code ref={place} />
    </pre>
  );
}
