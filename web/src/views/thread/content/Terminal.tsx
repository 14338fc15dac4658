// The output of a command, as its terminal showed it. Of many lines, only the visible ones are rendered.

import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";

import { toast } from "../../../app/toasts.ts";
import { sentence } from "../../../connection/connection.ts";
import { downloadBlob } from "../../../connection/download.ts";
import { AnsiText, type Line, LINES_KEPT, type Segment, type Style } from "../../../text/ansi.ts";
import { visibleOrder } from "../../../text/bidi-guard.ts";
import { CopyButton } from "./CopyButton.tsx";
import { count } from "../../../text/format.ts";

/** Height of a line in pixels; the style sheet has the same value. */
const LINE = 18;
/** Maximum number of lines that are all rendered. */
const ALL = 300;
/** Number of lines rendered above and below the visible ones. */
const MARGIN = 30;
/** Assumed height in pixels, if there is no layout. */
const HEIGHT = 360;

export interface OutputProps {
  output: string;
  /** Whether a part of the output is missing. */
  truncated?: boolean;
  /** The id of the stored content, if `output` is only its end. */
  blob?: string;
  /** The label for screen readers. */
  label: string;
  /** Whether the command still runs. */
  live?: boolean;
}

export function Output({ output, truncated = false, blob, label, live = false }: OutputProps) {
  const terminal = useOutput(output);
  const place = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const atEnd = useRef(true);
  const lines = withoutLastEmpty(terminal.lines);
  const missing = missed(truncated, blob !== undefined, terminal.dropped > 0);

  const scrolled = useCallback((event: Event) => {
    const { scrollTop, clientHeight, scrollHeight } = event.currentTarget as HTMLElement;
    atEnd.current = scrollTop + clientHeight >= scrollHeight - LINE;
    setTop(scrollTop);
  }, []);
  // Follows new output while the user is at the end; keeps the position otherwise.
  useLayoutEffect(() => {
    const element = place.current;
    if (element === null || !atEnd.current) return;
    element.scrollTop = element.scrollHeight;
    setTop(element.scrollTop);
  }, [output]);

  const height = place.current?.clientHeight || HEIGHT;
  const first = lines.length <= ALL ? 0 : Math.max(0, Math.floor(top / LINE) - MARGIN);
  const last = lines.length <= ALL ? lines.length : Math.min(lines.length, Math.ceil((top + height) / LINE) + MARGIN);
  if (lines.length === 0) {
    return <p class="th-quiet th-no-output">{live ? "No output yet" : "No output"}</p>;
  }
  return (
    <div class="th-terminal-frame">
      {missing !== undefined && (
        <p class="th-truncated" role="note">
          {missing}
          {blob !== undefined && (
            <button type="button" class="th-download" onClick={() => void download(blob)}>
              Download {truncated ? "all that was kept" : "all of it"}
            </button>
          )}
        </p>
      )}
      <div class="th-terminal" ref={place} onScroll={scrolled} tabIndex={0} role="log" aria-live="off" aria-label={label}>
        <div class="th-terminal-space" style={{ height: `${lines.length * LINE}px` }}>
          <div class="th-terminal-lines" style={{ transform: `translateY(${first * LINE}px)` }}>
            {lines.slice(first, last).map((line, at) => (
              <TerminalLine key={first + at} line={line} />
            ))}
          </div>
        </div>
      </div>
      <CopyButton text={() => terminal.plain()} what="output" class="th-copy-corner" />
    </div>
  );
}

function download(blob: string): Promise<void> {
  return downloadBlob(blob, "output.txt").catch((error: unknown) => void toast(sentence(error), { kind: "error" }));
}

/** Describes the missing part. */
function missed(truncated: boolean, elsewhere: boolean, dropped: boolean): string | undefined {
  if (truncated) return "Truncated: not all of the output was kept.";
  if (elsewhere) return "Only the end of the output is shown.";
  return dropped ? `Only the last ${count(LINES_KEPT)} lines are shown.` : undefined;
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
function withoutLastEmpty(lines: readonly Line[]): readonly Line[] {
  return lines.at(-1)?.segments.length === 0 ? lines.slice(0, -1) : lines;
}

function TerminalLine({ line }: { line: Line }) {
  return (
    <div class="th-terminal-line">
      {line.segments.map((segment, at) => (
        <Piece key={at} segment={segment} />
      ))}
      {line.cut && <span class="th-quiet"> … line cut</span>}
    </div>
  );
}

function Piece({ segment: { text, style } }: { segment: Segment }) {
  const shown = visibleOrder(text);
  const { classes, css } = looks(style);
  if (classes === "" && css === undefined) return <>{shown}</>;
  return (
    <span class={classes} {...(css === undefined ? {} : { style: css })}>
      {shown}
    </span>
  );
}

/** Palette colours are classes, so that they fit the theme. */
function looks(style: Style): { classes: string; css?: Record<string, string> } {
  const [fg, bg] = style.inverse ? [style.bg ?? "bg", style.fg ?? "fg"] : [style.fg, style.bg];
  const classes: string[] = [];
  const css: Record<string, string> = {};
  if (typeof fg === "string" && fg.startsWith("rgb")) css.color = fg;
  else if (fg !== undefined) classes.push(`ansi-fg-${fg}`);
  if (typeof bg === "string" && bg.startsWith("rgb")) css.backgroundColor = bg;
  else if (bg !== undefined) classes.push(`ansi-bg-${bg}`);
  for (const kind of ["bold", "dim", "italic", "underline", "strike"] as const) {
    if (style[kind]) classes.push(`ansi-${kind}`);
  }
  return Object.keys(css).length > 0 ? { classes: classes.join(" "), css } : { classes: classes.join(" ") };
}
