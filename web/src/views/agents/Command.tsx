/** A command for the terminal, with a button that copies it. */

import { visibleLine } from "../../text/bidi-guard.ts";
import { CopyButton } from "../thread/content/CopyButton.tsx";

import "./setup.css";

export function Command({ text }: { text: string }) {
  return (
    <span class="command">
      <code>{visibleLine(text)}</code>
      <CopyButton text={text} what="command" />
    </span>
  );
}
