/** A command for the terminal, with a button that copies it. */

import { CopyButton } from "../thread/content/CopyButton.tsx";

import "./setup.css";

export function Command({ text }: { text: string }) {
  return (
    <span class="command">
      <code>{text}</code>
      <CopyButton text={text} what="command" />
    </span>
  );
}
