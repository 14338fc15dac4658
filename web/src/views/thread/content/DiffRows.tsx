// The lines of a changed file, in one or two columns.

import type { ComponentChildren } from "preact";

import { type DiffLine, type Hunk, sideBySide } from "../../../text/diff.ts";
import { count } from "../../../text/format.ts";
import { shownLine } from "../../../text/line-ends.ts";
import { type Colours, piecesOf } from "./diff-colours.ts";
import type { DiffStyle } from "./context.ts";

/** Maximum length of a rendered line, in characters. */
const LINE_LENGTH = 4_000;

export interface DiffTableProps {
  hunks: readonly Hunk[];
  style: DiffStyle;
  /** Maximum number of lines. */
  limit: number;
  /** Whether long lines are rendered in full. */
  full: boolean;
  /** Whether the lines that end with CRLF are marked. */
  marked: boolean;
  colours: Colours | undefined;
}

export function DiffTable({ hunks, style, limit, ...line }: DiffTableProps) {
  let left = limit;
  return (
    <table class={`th-diff-lines th-diff-${style}`}>
      {style === "split" && (
        <colgroup>
          <col class="th-number-column" />
          <col />
          <col class="th-number-column" />
          <col />
        </colgroup>
      )}
      <thead class="sr-only">
        <tr>
          {(style === "unified" ? ["Old line", "New line", "Text"] : ["Old line", "Old text", "New line", "New text"]).map(
            (name) => (
              <th key={name}>{name}</th>
            ),
          )}
        </tr>
      </thead>
      {hunks.map((hunk, at) => {
        if (left <= 0) return null;
        const shown = hunk.lines.length > left ? { ...hunk, lines: hunk.lines.slice(0, left) } : hunk;
        left -= shown.lines.length;
        return <HunkRows key={at} hunk={shown} first={at === 0} split={style === "split"} {...line} />;
      })}
    </table>
  );
}

type LineProps = Pick<DiffTableProps, "full" | "marked" | "colours">;

interface HunkProps extends LineProps {
  hunk: Hunk;
  first: boolean;
  split: boolean;
}

function HunkRows({ hunk, first, split, ...line }: HunkProps) {
  return (
    <tbody>
      {(!first || hunk.heading !== "") && (
        <tr class="th-hunk-head">
          <td colSpan={split ? 4 : 3}>{hunk.heading === "" ? "⋯" : shownLine(hunk.heading)}</td>
        </tr>
      )}
      {split ? <SplitRows hunk={hunk} {...line} /> : <UnifiedRows hunk={hunk} {...line} />}
    </tbody>
  );
}

type RowsProps = LineProps & { hunk: Hunk };

function SplitRows({ hunk, ...line }: RowsProps) {
  let changed = false;
  return sideBySide(hunk).map(({ left, right }, at) => {
    const begins = !changed && (left?.kind !== "same" || right?.kind !== "same");
    changed = begins || (changed && left?.kind !== "same");
    return (
      <tr key={at} data-change={begins || undefined}>
        <Side line={left} number={left?.before} {...line} />
        <Side line={right} number={right?.after} {...line} right />
      </tr>
    );
  });
}

function UnifiedRows({ hunk, ...line }: RowsProps) {
  return hunk.lines.map((one, at) => (
    <tr key={at} class={`th-line-${one.kind}`} data-change={beginsChange(hunk, at) || undefined}>
      <td class="th-number">{one.before}</td>
      <td class="th-number">{one.after}</td>
      <td class="th-text" data-sign={SIGNS[one.kind]}>
        <span class="sr-only">{SAID[one.kind]}</span>
        <LineText line={one} {...line} />
      </td>
    </tr>
  ));
}

/** Returns whether consecutive changed lines begin here. */
export function beginsChange(hunk: Hunk, at: number): boolean {
  const isChange = (line: DiffLine | undefined) => line?.kind === "add" || line?.kind === "del";
  return isChange(hunk.lines[at]) && !isChange(hunk.lines[at - 1]);
}

// The style sheet renders the signs, so that copied lines do not contain them.
const SIGNS = { add: "+", del: "−", same: "", note: "" } as const;
const SAID = { add: "added: ", del: "removed: ", same: "", note: "" } as const;

type SideProps = LineProps & { line: DiffLine | undefined; number: number | undefined; right?: boolean };

function Side({ line, number, right = false, ...rest }: SideProps) {
  const side = right ? "th-right" : "";
  if (line === undefined) return <td class={`th-nothing ${side}`} colSpan={2} />;
  return (
    <>
      <td class={`th-number th-line-${line.kind} ${side}`}>{number}</td>
      <td class={`th-text th-line-${line.kind}`} data-sign={SIGNS[line.kind]}>
        <span class="sr-only">{SAID[line.kind]}</span>
        <LineText line={line} {...rest} />
      </td>
    </>
  );
}

function LineText({ line, full, marked, colours }: LineProps & { line: DiffLine }): ComponentChildren {
  const end = marked && line.crlf && (
    <span key="end" class="th-line-end">
      ␍
    </span>
  );
  return [piecesShown(line, full, colours), end];
}

function piecesShown(line: DiffLine, full: boolean, colours: Colours | undefined): ComponentChildren {
  const { text } = line;
  if (text.length > LINE_LENGTH && !full) {
    return `${shownLine(text.slice(0, LINE_LENGTH))} … ${count(text.length - LINE_LENGTH)} more characters`;
  }
  return piecesOf(line, colours?.get(line)).map((piece, at) => {
    const shown = shownLine(piece.text);
    if (!piece.changed && piece.class === "") return shown;
    return (
      <span key={at} class={`${piece.changed ? "th-changed" : ""} ${piece.class}`.trim()}>
        {shown}
      </span>
    );
  });
}
