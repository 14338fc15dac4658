// A Markdown text, split where later text can no longer change the earlier parts.
//
// In: the whole text so far. Out: blocks whose concatenation is that text. While a message streams, all blocks but the
// last stay the same strings, so that their rendered nodes can be kept. In doubt there is no split: an over-long block
// costs time, but a wrong split would show different content.

/** A part of a Markdown text that can be rendered separately. */
export interface Block {
  /** `code` is a fenced block at the margin; it bypasses the Markdown parser. */
  kind: "markdown" | "code";
  /** The Markdown source, with fences. */
  source: string;
  /** For `code`: the text between the fences. */
  code: string;
  /** For `code`: the word after the opening fence. */
  language: string;
  /** For `code`: whether the closing fence has arrived. */
  closed: boolean;
}

const FENCE_OPENS = /^ {0,3}(`{3,}|~{3,})[ \t]*([^\n]*)$/;
const FENCE_IN_LIST = /^\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)*(`{3,}|~{3,})/;
const LIST_BEGINS = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)/;
/** The possible start of such a line, while the line is incomplete. */
const LIST_MAY_BEGIN = /^(?:[-*+]|\d{1,9}[.)]?)$/;
const DEFINITION = /^ {0,3}\[([^\]\n]+)\]:[ \t]*\S.*$/;

/** Splits a text into blocks. */
export function blocksOf(text: string): Block[] {
  return cutFrom(text, 0);
}

/**
 * Splits a text whose start was split before. Unchanged blocks stay the same objects. If the text has only grown, only
 * the last block is parsed again.
 */
export function blocksAfter(before: readonly Block[], text: string): Block[] {
  const same: Block[] = [];
  let length = 0;
  for (const block of before.slice(0, -1)) {
    if (!text.startsWith(block.source, length)) break;
    same.push(block);
    length += block.source.length;
  }
  // A block that looks unchanged may have been delimited by the text after it.
  if (same.length > 0 && same.length < before.length - 1) return cutFrom(text, 0);
  return [...same, ...cutFrom(text, length)];
}

function cutFrom(text: string, start: number): Block[] {
  const cutter = new Cutter();
  let from = start;
  while (from < text.length) {
    const newline = text.indexOf("\n", from);
    const end = newline === -1 ? text.length : newline + 1;
    cutter.line(text.slice(from, end), newline !== -1);
    from = end;
  }
  return cutter.end();
}

/**
 * Returns link definitions (`[name]: address`). They apply to the whole text, so a block that uses one must be rendered
 * together with it.
 */
export function definitionsOf(blocks: readonly Block[]): Map<string, string> {
  const definitions = new Map<string, string>();
  for (const block of blocks) {
    for (const [name, line] of definitionsIn(block)) {
      if (!definitions.has(name)) definitions.set(name, line);
    }
  }
  return definitions;
}

const found = new WeakMap<Block, readonly (readonly [string, string])[]>();
const NONE: readonly (readonly [string, string])[] = [];

function definitionsIn(block: Block): readonly (readonly [string, string])[] {
  const known = found.get(block);
  if (known !== undefined) return known;
  const here =
    block.kind === "code" || !block.source.includes("]:")
      ? NONE
      : block.source.split("\n").flatMap((line) => {
          const name = DEFINITION.exec(line)?.[1]?.toLowerCase();
          return name === undefined ? [] : [[name, line] as const];
        });
  found.set(block, here);
  return here;
}

/** Returns the block's Markdown with the definitions that it uses from other blocks. */
export function withDefinitions(block: Block, definitions: ReadonlyMap<string, string>): string {
  if (definitions.size === 0 || !block.source.includes("[")) return block.source;
  const lower = block.source.toLowerCase();
  let added = "";
  for (const [name, line] of definitions) {
    if (lower.includes(`[${name}]`) && !block.source.includes(line)) added += `\n${line}`;
  }
  return added === "" ? block.source : `${block.source}\n${added}\n`;
}

/** Processes lines one after the other. */
class Cutter {
  private done: Block[] = [];
  /** The lines of the current block. */
  private open = "";
  /** Whether it contains more than blank lines. */
  private begun = false;
  private list = false;
  private blank = false;
  /** The fence inside the current block, which only a matching fence closes. */
  private inner: string | undefined;
  private code: { fence: string; language: string; body: string; source: string } | undefined;

  line(line: string, whole: boolean): void {
    const bare = whole ? line.slice(0, -1).replace(/\r$/, "") : line;
    if (this.code !== undefined) return this.lineOfCode(line, bare);
    if (this.inner !== undefined) return this.lineOfInnerFence(line, bare);
    if (bare.trim() === "") {
      this.blank = true;
      this.keepBlank(line);
      return;
    }
    if (this.blank && this.cutsBefore(bare, whole)) this.cut();
    this.blank = false;
    // An incomplete fence line has no language yet, but already starts a code block.
    const fence = FENCE_OPENS.exec(bare);
    if (fence !== null && this.opensCode(fence)) {
      this.cut();
      this.code = { fence: fence[1] ?? "```", language: languageOf(fence[2] ?? ""), body: "", source: line };
      return;
    }
    if (!this.begun) this.list = LIST_BEGINS.test(bare);
    this.inner = FENCE_IN_LIST.exec(bare)?.[1];
    this.begun = true;
    this.open += line;
  }

  end(): Block[] {
    if (this.code !== undefined) this.closeCode(false);
    this.cut();
    return this.done;
  }

  /** Returns whether this line, after a blank line, finally ends the previous text. */
  private cutsBefore(line: string, whole: boolean): boolean {
    if (!this.begun || /^\s/.test(line)) return false;
    if (!this.list) return true;
    return !(LIST_BEGINS.test(line) || (!whole && LIST_MAY_BEGIN.test(line)));
  }

  /** Adds a blank line to the text before it. */
  private keepBlank(line: string): void {
    const before = this.done.at(-1);
    if (this.open === "" && before !== undefined) before.source += line;
    else this.open += line;
  }

  /** Starts a code block. A fence at the margin also ends a list; an indented one may belong to it. */
  private opensCode(fence: RegExpExecArray): boolean {
    const [line, marks = "", info = ""] = fence;
    if (marks.startsWith("`") && info.includes("`")) return false;
    return !line.startsWith(" ") || !this.list || !this.begun;
  }

  private lineOfCode(line: string, bare: string): void {
    const code = this.code;
    if (code === undefined) return;
    code.source += line;
    if (closes(bare, code.fence, 3)) this.closeCode(true);
    else code.body += line;
  }

  private lineOfInnerFence(line: string, bare: string): void {
    this.open += line;
    if (closes(bare, this.inner ?? "", Number.POSITIVE_INFINITY)) this.inner = undefined;
  }

  private closeCode(closed: boolean): void {
    const code = this.code;
    if (code === undefined) return;
    this.code = undefined;
    this.done.push({
      kind: "code",
      source: code.source,
      code: code.body.replace(/\r?\n$/, ""),
      language: code.language,
      closed,
    });
  }

  private cut(): void {
    if (this.open !== "") this.push(this.open);
    this.open = "";
    this.begun = false;
    this.list = false;
    this.blank = false;
  }

  private push(source: string): void {
    this.done.push({ kind: "markdown", source, code: "", language: "", closed: true });
  }
}

function closes(line: string, fence: string, indent: number): boolean {
  const trimmed = line.trim();
  const before = line.length - line.trimStart().length;
  return (
    before <= indent &&
    trimmed.length >= fence.length &&
    trimmed === (fence[0] ?? "`").repeat(trimmed.length)
  );
}

function languageOf(info: string): string {
  return /^[\w+#.-]+/.exec(info.trim())?.[0]?.toLowerCase() ?? "";
}
