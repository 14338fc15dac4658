// The output of a command, as its terminal showed it.

import { useRef, useState } from "preact/hooks";

import { toast } from "../../../app/toasts.ts";
import { sentence } from "../../../connection/connection.ts";
import { readBlob, saveFile } from "../../../connection/download.ts";
import { AnsiText, type Line, LINES_KEPT, plainText } from "../../../text/ansi.ts";
import { bytes, count } from "../../../text/format.ts";
import { lazy } from "../../parts/lazy.tsx";
import { CopyButton } from "./CopyButton.tsx";
import type { OutputProps } from "./Output.tsx";
import type { ViewerProps } from "./OutputViewer.tsx";
import { TerminalScreen } from "./TerminalScreen.tsx";

import "./terminal.css";

/** Number of lines that fit without scrolling. */
const FIT = 20;

export function Terminal({ output, truncated = false, blob, label, live = false }: OutputProps) {
  const terminal = useOutput(output);
  const lines = withoutLastEmpty(terminal.lines);
  const missing = missed(truncated, blob !== undefined, terminal.dropped > 0);
  if (lines.length === 0) {
    return <p class="th-quiet th-no-output">{live ? "No output yet" : "No output"}</p>;
  }
  return (
    <div class="th-terminal-frame">
      <TerminalScreen lines={lines} label={label} follow={output} />
      <CopyButton text={() => terminal.plain()} what="output" class="th-copy-corner" />
      {(missing !== undefined || lines.length > FIT) && (
        <p class={missing === undefined ? "th-terminal-foot" : "th-terminal-foot th-truncated"} role="note">
          <span>{missing ?? `${count(lines.length)} lines`}</span>
          <Whole
            label={label}
            load={() => (blob === undefined ? Promise.resolve(output) : readBlob(blob))}
            {...(truncated && { available: blob === undefined ? ` (${bytes(output.length)})` : "" })}
          />
        </p>
      )}
    </div>
  );
}

const OutputViewer = lazy<ViewerProps>(async () => ({ default: (await import("./OutputViewer.tsx")).OutputViewer }));

/** Buttons for all of the output that was kept. */
function Whole({ label, load, available }: ViewerProps["source"] & { /** Its size, if not all of it was kept. */ available?: string }) {
  const [open, setOpen] = useState(false);
  const save = async () => saveFile(new Blob([plainText(await load())], { type: "text/plain" }), "output.txt");
  const failed = (error: unknown) => void toast(sentence(error), { kind: "error" });
  return (
    <>
      <button type="button" class="th-link" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        {available === undefined ? "Open all" : "Open"}
      </button>
      <button type="button" class="th-link" onClick={() => void save().catch(failed)}>
        {available === undefined ? "Download" : `Download what’s available${available}`}
      </button>
      {open && <OutputViewer source={{ label, load }} onClose={() => setOpen(false)} />}
    </>
  );
}

/** Describes the missing part. */
function missed(truncated: boolean, elsewhere: boolean, dropped: boolean): string | undefined {
  if (truncated) return "Output truncated.";
  if (elsewhere) return "Only the end of the output is shown";
  return dropped ? `Only the last ${count(LINES_KEPT)} lines are shown` : undefined;
}

/** Returns the parsed output; parses only the new part. */
function useOutput(output: string): AnsiText {
  const read = useRef<{ terminal: AnsiText; output: string } | undefined>(undefined);
  const before = read.current;
  if (before === undefined || !output.startsWith(before.output)) {
    const terminal = new AnsiText();
    terminal.feed(output);
    read.current = { terminal, output };
    return terminal;
  }
  if (output.length > before.output.length) {
    before.terminal.feed(output.slice(before.output.length));
    before.output = output;
  }
  return before.terminal;
}

/** Output ends with a newline, after which there is no line. */
export function withoutLastEmpty(lines: readonly Line[]): readonly Line[] {
  return lines.at(-1)?.segments.length === 0 ? lines.slice(0, -1) : lines;
}
