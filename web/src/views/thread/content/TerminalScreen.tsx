// The lines of a terminal. Of many lines, only the visible ones are rendered.

import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";

import { type Line, type Segment, type Style, textOf } from "../../../text/ansi.ts";
import { visibleOrder } from "../../../text/bidi-guard.ts";

/** Height of a line in pixels; the style sheet has the same value. */
const LINE = 18;
/** Maximum number of lines that are all rendered. */
const ALL = 300;
/** Number of lines rendered above and below the visible ones. */
const MARGIN = 30;
/** Assumed height in pixels, if there is no layout. */
const HEIGHT = 360;

export interface ScreenProps {
  lines: readonly Line[];
  /** The label for screen readers. */
  label: string;
  /** Changes when lines were added; the end is followed while the user is there. Without it, the start is shown. */
  follow?: string;
  /** A text to mark. */
  query?: string;
  /** The line to show. */
  current?: number | undefined;
}

export function TerminalScreen({ lines, label, follow, query = "", current }: ScreenProps) {
  const place = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const atEnd = useRef(follow !== undefined);
  const scrolled = useCallback((event: Event) => {
    const { scrollTop, clientHeight, scrollHeight } = event.currentTarget as HTMLElement;
    atEnd.current = follow !== undefined && scrollTop + clientHeight >= scrollHeight - LINE;
    setTop(scrollTop);
  }, []);
  useLayoutEffect(() => {
    const element = place.current;
    if (element === null || !atEnd.current) return;
    element.scrollTop = element.scrollHeight;
    setTop(element.scrollTop);
  }, [follow]);
  useLayoutEffect(() => {
    const element = place.current;
    if (element === null || current === undefined) return;
    element.scrollTop = Math.max(0, current * LINE - element.clientHeight / 2);
    setTop(element.scrollTop);
  }, [current]);
  const height = place.current?.clientHeight || HEIGHT;
  const first = lines.length <= ALL ? 0 : Math.max(0, Math.floor(top / LINE) - MARGIN);
  const last = lines.length <= ALL ? lines.length : Math.min(lines.length, Math.ceil((top + height) / LINE) + MARGIN);
  return (
    <div class="th-terminal" ref={place} onScroll={scrolled} tabIndex={0} role="log" aria-live="off" aria-label={label}>
      <div class="th-terminal-space" style={{ height: `${lines.length * LINE}px` }}>
        <div class="th-terminal-lines" style={{ transform: `translateY(${first * LINE}px)` }}>
          {lines.slice(first, last).map((line, at) => (
            <TerminalLine key={first + at} line={line} query={query} isCurrent={first + at === current} />
          ))}
        </div>
      </div>
    </div>
  );
}

function TerminalLine({ line, query, isCurrent }: { line: Line; query: string; isCurrent: boolean }) {
  const segments = query === "" ? line.segments : marked(line, query);
  return (
    <div class={isCurrent ? "th-terminal-line is-current" : "th-terminal-line"}>
      {segments.map((segment, at) => (
        <Piece key={at} segment={segment} />
      ))}
      {line.cut && <span class="th-quiet"> … line cut</span>}
    </div>
  );
}

interface Marked extends Segment {
  readonly found?: boolean;
}

/** Cuts the segments of a line around what was found. */
function marked(line: Line, query: string): readonly Marked[] {
  const text = textOf(line).toLowerCase();
  const wanted = query.toLowerCase();
  const edges: number[] = [];
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length)) {
    edges.push(at, at + wanted.length);
  }
  let start = 0;
  return line.segments.flatMap(({ text: whole, style }) => {
    const cuts = [start, ...edges.filter((edge) => edge > start && edge < start + whole.length), start + whole.length];
    const pieces = cuts.slice(1).map((end, at) => ({
      text: whole.slice(cuts[at]! - start, end - start),
      style,
      found: edges.findLastIndex((edge) => edge <= cuts[at]!) % 2 === 0,
    }));
    start += whole.length;
    return pieces;
  });
}

function Piece({ segment: { text, style, found } }: { segment: Marked }) {
  const shown = found ? <mark>{visibleOrder(text)}</mark> : visibleOrder(text);
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
