// File changes, as lines to show.
//
// In: a unified diff, or a file's text before and after. Out: files, hunks, numbered lines, and the changed part of a
// changed line. Input that is not a diff stays text: nothing is lost.

// The package itself would bring all kinds of comparisons along.
import { structuredPatch } from "diff/lib/patch/create.js";

export type LineKind = "same" | "add" | "del" | "note";

export interface DiffLine {
  kind: LineKind;
  /** The line without its end; a carriage return inside it is part of it. */
  text: string;
  /** Whether a carriage return stands before the line's end. */
  crlf: boolean;
  /** Line numbers in the file before and after; absent if that file does not contain the line. */
  before?: number;
  after?: number;
  /** The changed range inside the line: from, to. */
  changed?: readonly [number, number];
}

export interface Hunk {
  /** The text after `@@`: the enclosing function. */
  heading: string;
  lines: DiffLine[];
}

export interface FileDiff {
  /** Absent if the diff does not contain it. */
  path?: string | undefined;
  /** The path before a move. */
  oldPath?: string | undefined;
  state: "changed" | "new" | "deleted" | "moved";
  hunks: Hunk[];
  added: number;
  removed: number;
  /** Information in a diff besides lines: modes, binary files. */
  notes: string[];
}

/** Number of context lines around a change. */
const CONTEXT = 3;
/** Number of edits after which two texts count as entirely different: a longer comparison would block the page. */
const MOST_EDITS = 4_000;
/** The line of a unified diff behind a last line without an end. */
const NO_NEWLINE = "\\ No newline at end of file";

/** Parses a unified diff of any number of files. */
export function parseUnified(diff: string): FileDiff[] {
  const reader = new Reader();
  for (const line of diff.replace(/\n$/, "").split("\n")) reader.line(line);
  return reader.end();
}

/** Compares two texts. Without a text before, the file is new. */
export function diffOfTexts(path: string, before: string | null | undefined, after: string): FileDiff {
  const file: FileDiff = { path, state: before == null ? "new" : "changed", hunks: [], added: 0, removed: 0, notes: [] };
  const patch = structuredPatch(path, path, before ?? "", after, "", "", {
    context: CONTEXT,
    maxEditLength: MOST_EDITS,
  }) as ReturnType<typeof structuredPatch> | undefined;
  if (patch === undefined) file.hunks.push(replaced(before ?? "", after));
  else {
    for (const hunk of patch.hunks) {
      file.hunks.push(numbered(hunk.oldStart, hunk.newStart, hunk.lines));
    }
  }
  finish(file);
  return file;
}

/** A pair of lines in the side-by-side view. */
export interface SidePair {
  left?: DiffLine;
  right?: DiffLine;
}

/**
 * Arranges a hunk side by side: removed lines on the left, added lines on the right, unchanged lines on both. A note is on
 * the side of the line before it.
 */
export function sideBySide(hunk: Hunk): SidePair[] {
  const pairs: SidePair[] = [];
  let gone: DiffLine[] = [];
  let come: DiffLine[] = [];
  const flush = () => {
    for (let at = 0; at < Math.max(gone.length, come.length); at += 1) {
      const pair: SidePair = {};
      const left = gone[at];
      const right = come[at];
      if (left !== undefined) pair.left = left;
      if (right !== undefined) pair.right = right;
      pairs.push(pair);
    }
    gone = [];
    come = [];
  };
  let side: DiffLine[] | undefined;
  for (const line of hunk.lines) {
    if (line.kind !== "note") side = line.kind === "del" ? gone : line.kind === "add" ? come : undefined;
    if (side !== undefined) side.push(line);
    else {
      flush();
      pairs.push({ left: line, right: line });
    }
  }
  flush();
  return pairs;
}

class Reader {
  private files: FileDiff[] = [];
  private file: FileDiff | undefined;
  private hunk: string[] | undefined;
  private heading = "";
  private start: [number, number] = [1, 1];
  /** Number of lines that the hunk's header announces and that have not been read. */
  private left: [number, number] = [0, 0];

  line(line: string): void {
    if (this.hunk !== undefined && (this.left[0] > 0 || this.left[1] > 0 || line.startsWith("\\"))) {
      this.body(line);
      return;
    }
    const head = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/s.exec(line);
    if (head !== null) {
      this.closeHunk();
      this.hunk = [];
      this.start = [Number(head[1]), Number(head[3])];
      this.left = [Number(head[2] ?? 1), Number(head[4] ?? 1)];
      this.heading = head[5] ?? "";
    } else this.head(line);
  }

  end(): FileDiff[] {
    this.closeFile();
    return this.files;
  }

  private body(line: string): void {
    const sign = line[0] ?? " ";
    if (sign !== "+" && sign !== "\\") this.left[0] -= 1;
    if (sign !== "-" && sign !== "\\") this.left[1] -= 1;
    this.hunk?.push(line);
  }

  private head(line: string): void {
    const git = /^diff --git (?:"?a\/)(.*?)"? "?b\/(.*?)"?$/.exec(line);
    if (git !== null) {
      this.closeFile();
      this.current().path = git[2] ?? "";
      return;
    }
    const before = /^--- (.*)$/.exec(line);
    const after = /^\+\+\+ (.*)$/.exec(line);
    if (before !== null) {
      if (this.file !== undefined && (this.file.hunks.length > 0 || this.hunk !== undefined)) this.closeFile();
      const path = pathOf(before[1] ?? "");
      if (path === undefined) this.current().state = "new";
      else this.current().oldPath = path;
    } else if (after !== null) {
      const path = pathOf(after[1] ?? "");
      if (path === undefined) this.current().state = "deleted";
      else this.current().path = path;
    } else this.extra(line);
  }

  private extra(line: string): void {
    if (line === "" || /^(index |similarity |dissimilarity )/.test(line)) return;
    const file = this.current();
    if (line.startsWith("new file")) file.state = "new";
    else if (line.startsWith("deleted file")) file.state = "deleted";
    else if (line.startsWith("rename from ")) file.oldPath = line.slice(12);
    else if (line.startsWith("rename to ")) file.path = line.slice(10);
    else file.notes.push(line);
  }

  private current(): FileDiff {
    this.file ??= { state: "changed", hunks: [], added: 0, removed: 0, notes: [] };
    return this.file;
  }

  private closeHunk(): void {
    if (this.hunk === undefined) return;
    const hunk = numbered(this.start[0], this.start[1], this.hunk);
    hunk.heading = this.heading;
    this.current().hunks.push(hunk);
    this.hunk = undefined;
  }

  private closeFile(): void {
    this.closeHunk();
    const file = this.file;
    this.file = undefined;
    if (file === undefined) return;
    if (file.path === undefined && file.oldPath !== undefined) file.path = file.oldPath;
    if (file.oldPath === file.path) delete file.oldPath;
    else if (file.oldPath !== undefined && file.state === "changed") file.state = "moved";
    finish(file);
    this.files.push(file);
  }
}

/** Parses a path: `a/src/x.rs`, or `/dev/null`, which is not a path. */
function pathOf(written: string): string | undefined {
  const path = written.replace(/\t.*$/, "").replace(/^"(.*)"$/, "$1");
  return path === "/dev/null" ? undefined : path.replace(/^[ab]\//, "");
}

function numbered(oldStart: number, newStart: number, lines: readonly string[]): Hunk {
  let before = oldStart;
  let after = newStart;
  const read = lines.map((line): DiffLine => {
    const crlf = line.endsWith("\r");
    const text = line.slice(1, crlf ? -1 : undefined);
    switch (line[0]) {
      case "+":
        return { kind: "add", text, crlf, after: after++ };
      case "-":
        return { kind: "del", text, crlf, before: before++ };
      case "\\":
        return { kind: "note", text: text.trim(), crlf };
      default:
        return { kind: "same", text, crlf, before: before++, after: after++ };
    }
  });
  return { heading: "", lines: read };
}

function replaced(before: string, after: string): Hunk {
  const lines = (text: string, sign: string) => {
    if (text === "") return [];
    const signed = text.split("\n").map((line) => sign + line);
    if (text.endsWith("\n")) signed.pop();
    else signed.push(NO_NEWLINE);
    return signed;
  };
  return numbered(1, 1, [...lines(before, "-"), ...lines(after, "+")]);
}

function finish(file: FileDiff): void {
  for (const hunk of file.hunks) {
    for (const { left, right } of sideBySide(hunk)) {
      if (left?.kind === "del") file.removed += 1;
      if (right?.kind === "add") file.added += 1;
      if (left?.kind === "del" && right?.kind === "add") markChange(left, right);
    }
  }
}

/** Marks the range between the common start and the common end, if enough is common to be useful. */
function markChange(left: DiffLine, right: DiffLine): void {
  const [a, b] = [left.text, right.text];
  const shorter = Math.min(a.length, b.length);
  let head = 0;
  while (head < shorter && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const common = a.slice(0, head).trim().length + a.slice(a.length - tail).trim().length;
  if (common * 3 < Math.max(a.trim().length, b.trim().length)) return;
  left.changed = [head, a.length - tail];
  right.changed = [head, b.length - tail];
}
