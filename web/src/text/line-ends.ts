// What changes in a file without a letter of it: the ends of lines, and a byte order mark. The daemon has the same rule for
// exports and terminals (`acpd_model::line_ends`).
//
// In: the lines of a file's changes. Out: sentences about them, and lines in which a carriage return hides no text.

import { visibleOrder } from "./bidi-guard.ts";
import type { FileDiff } from "./diff.ts";

const BYTE_ORDER_MARK = "\uFEFF";

export interface LineEnds {
  /** What has changed: "Line ends changed from LF to CRLF". */
  readonly notes: readonly string[];
  /** Whether to mark the lines that end with CRLF: not if all of them do. */
  readonly marked: boolean;
}

/** Compares the ends of the shown lines before and after a change. */
export function lineEnds({ hunks }: FileDiff): LineEnds {
  const [before, after, marks] = [new Set<string>(), new Set<string>(), new Set<string>()];
  let stray = false;
  for (const { lines } of hunks) {
    lines.forEach(({ kind, text, crlf }, at) => {
      if (kind === "note") return;
      if (text.startsWith(BYTE_ORDER_MARK)) marks.add(kind);
      if (lines[at + 1]?.kind === "note") {
        // The last line of a file has no end, so its carriage return is inside it.
        stray ||= crlf;
        return;
      }
      if (kind !== "add") before.add(crlf ? "CRLF" : "LF");
      if (kind !== "del") after.add(crlf ? "CRLF" : "LF");
    });
  }
  const [from, to] = [nameOf(before), nameOf(after)];
  const notes = [
    from !== undefined && to !== undefined && from !== to && `Line ends changed from ${from} to ${to}`,
    marks.has("add") !== marks.has("del") && `Byte order mark ${marks.has("add") ? "added" : "removed"}`,
  ].filter((note) => note !== false);
  return { notes, marked: stray || new Set([...before, ...after]).size > 1 };
}

function nameOf(ends: ReadonlySet<string>): string | undefined {
  return ends.size > 1 ? "mixed" : [...ends][0];
}

/** Shows a line of a file: writes out what reorders it, carriage returns and byte order marks. */
export function shownLine(text: string): string {
  return visibleOrder(text).replaceAll("\r", "␍").replaceAll(BYTE_ORDER_MARK, "⟨U+FEFF⟩");
}
