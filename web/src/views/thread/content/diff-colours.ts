// Syntax colours of changed lines: each side of a hunk is highlighted on its own.

import { useEffect, useState } from "preact/hooks";

import type { DiffLine, FileDiff, Hunk, LineKind } from "../../../text/diff.ts";
import { grammarOf, highlightLines, languageOfPath, type Token } from "../../../text/highlight.ts";

/** Maximum number of highlighted characters in a file's changes. */
const MOST = 120_000;

export type Colours = ReadonlyMap<DiffLine, readonly Token[]>;

/** Returns the colours of lines, once the grammar is loaded. */
export function useColours(file: FileDiff, path: string | undefined): Colours | undefined {
  const [colours, setColours] = useState<Colours>();
  useEffect(() => {
    let wanted = true;
    setColours(undefined);
    // Without its grammar, a file stays plain.
    void coloursOf(file, languageOfPath(path ?? "")).then((found) => wanted && setColours(found), () => {});
    return () => {
      wanted = false;
    };
  }, [file, path]);
  return colours;
}

async function coloursOf(file: FileDiff, language: string): Promise<Colours | undefined> {
  const length = file.hunks.reduce((sum, { lines }) => lines.reduce((all, { text }) => all + text.length, sum), 0);
  if (grammarOf(language) === undefined || length > MOST) return undefined;
  const colours = new Map<DiffLine, readonly Token[]>();
  for (const hunk of file.hunks) {
    await colourSide(colours, hunk, "del", language);
    await colourSide(colours, hunk, "add", language);
  }
  return colours;
}

async function colourSide(colours: Map<DiffLine, readonly Token[]>, hunk: Hunk, side: LineKind, language: string) {
  const lines = hunk.lines.filter(({ kind }) => kind === side || kind === "same");
  const tokens = await highlightLines(lines.map(({ text }) => text).join("\n"), language);
  lines.forEach((line, at) => {
    const found = tokens?.[at];
    if (found !== undefined) colours.set(line, found);
  });
}

export interface Piece extends Token {
  readonly changed: boolean;
}

/** Returns the pieces of a line: cut where the colour changes, and around the changed part. */
export function piecesOf({ text, changed }: DiffLine, tokens: readonly Token[] | undefined): Piece[] {
  const [from, to] = changed ?? [0, 0];
  const pieces: Piece[] = [];
  const add = (part: string, name: string, isChanged: boolean) => {
    if (part !== "") pieces.push({ text: part, class: name, changed: isChanged });
  };
  let at = 0;
  // Highlighting must not change the text.
  const whole = tokens?.reduce((sum, token) => sum + token.text.length, 0) === text.length;
  for (const token of whole ? tokens! : [{ text, class: "" }]) {
    const cut = (position: number) => Math.min(token.text.length, Math.max(0, position - at));
    add(token.text.slice(0, cut(from)), token.class, false);
    add(token.text.slice(cut(from), cut(to)), token.class, true);
    add(token.text.slice(Math.max(cut(from), cut(to))), token.class, false);
    at += token.text.length;
  }
  return pieces;
}
