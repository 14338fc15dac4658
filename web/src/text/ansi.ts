// Terminal output as lines of styled text.
//
// In: the output of a program, in chunks that may end anywhere. Out: lines of segments, each with a style. Supports
// colours and text styles, carriage return, backspace, and the cursor movements of progress displays. Drops everything
// else - titles, links, clipboards, reports, graphics: the output is only displayed, and must have no effect. Bounded:
// the oldest lines are dropped, and over-long lines are cut.

/** Maximum number of lines. */
export const LINES_KEPT = 50_000;
/** Maximum length of a line, in characters. */
export const LINE_LENGTH = 8_000;

/** The look of a segment. Equal styles are the same object. */
export interface Style {
  /** 0–15 are the palette's colours, which the theme defines; others are CSS colours. */
  fg?: number | string;
  bg?: number | string;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
  underline?: boolean;
  strike?: boolean;
  inverse?: boolean;
}

export interface Segment {
  text: string;
  style: Style;
}

/** A line; a new object after every change. */
export interface Line {
  readonly segments: readonly Segment[];
  /** Whether the line exceeded the maximum length. */
  readonly cut: boolean;
}

const PLAIN: Style = {};
const EMPTY: Line = { segments: [], cut: false };
// All controls of C0 and C1.
const CONTROL = /[\u0000-\u001F\u007F-\u009F]/g;
const CSI = /\u001B\[([0-?]*)([ -/]*)([@-~])/y;
const CSI_BEGUN = /\u001B\[[0-?]*[ -/]*$/y;
const CHARSET = /\u001B[ -/]+[0-~]/y;
/**
 * The end of a string of OSC, DCS, APC, PM or SOS. A newline ends it too, so that an unterminated string hides no
 * output.
 */
const STRING_ENDS = /\u0007|\u001B\\|\u009C|\u0018|\u001A|(?=\n)/g;

/** A program's output, parsed as it arrives. */
export class AnsiText {
  private kept: Line[] = [EMPTY];
  private row = 0;
  private column = 0;
  private style: Style = PLAIN;
  private styles = new Map<string, Style>();
  /** The start of an incomplete sequence. */
  private pending = "";
  private inString = false;
  private gone = 0;

  constructor(
    private readonly mostLines = LINES_KEPT,
    private readonly mostColumns = LINE_LENGTH,
  ) {}

  /** All kept lines. */
  get lines(): readonly Line[] {
    return this.kept;
  }

  /** Number of dropped lines before them. */
  get dropped(): number {
    return this.gone;
  }

  /** Parses more output. */
  feed(more: string): void {
    const text = this.pending + more;
    this.pending = "";
    let at = this.inString ? this.endOfString(text, 0) : 0;
    while (at < text.length) {
      CONTROL.lastIndex = at;
      const next = CONTROL.exec(text)?.index ?? text.length;
      if (next > at) this.write(text.slice(at, next));
      if (next === text.length) return;
      at = this.control(text, next);
    }
  }

  /** Returns the text without styles. */
  plain(): string {
    return this.kept.map(textOf).join("\n");
  }

  /** Handles the control character at `at`; returns the position after it. */
  private control(text: string, at: number): number {
    switch (text[at]) {
      case "\n":
        this.newline();
        return at + 1;
      case "\r":
        this.column = 0;
        return at + 1;
      case "\b":
        this.column = Math.max(0, this.column - 1);
        return at + 1;
      case "\t":
        this.write(" ".repeat(8 - (this.column % 8)));
        return at + 1;
      case "\u001B":
        return this.escape(text, at);
      default:
        return at + 1;
    }
  }

  private escape(text: string, at: number): number {
    const kind = text[at + 1];
    if (kind === undefined) {
      this.pending = "\u001B";
      return text.length;
    }
    if (kind === "[") return this.sequence(text, at);
    if ("]P^_X".includes(kind)) {
      this.inString = true;
      return this.endOfString(text, at + 2);
    }
    if (/^\u001B[ -/]{1,4}$/.test(text.slice(at))) {
      this.pending = text.slice(at);
      return text.length;
    }
    CHARSET.lastIndex = at;
    return at + (CHARSET.exec(text)?.[0].length ?? 2);
  }

  private endOfString(text: string, from: number): number {
    STRING_ENDS.lastIndex = from;
    const end = STRING_ENDS.exec(text);
    if (end === null) {
      // The last character may be the escape of a terminator.
      if (text.endsWith("\u001B") && from < text.length) this.pending = "\u001B";
      return text.length;
    }
    this.inString = false;
    return end.index + end[0].length;
  }

  private sequence(text: string, at: number): number {
    CSI.lastIndex = at;
    const found = CSI.exec(text);
    if (found === null) {
      CSI_BEGUN.lastIndex = at;
      // Longer input is not a sequence.
      if (text.length - at < 64 && CSI_BEGUN.test(text)) {
        this.pending = text.slice(at);
        return text.length;
      }
      return at + 2;
    }
    const [all, params = "", between = "", final = ""] = found;
    if (between === "" && !/[<=>?]/.test(params)) this.act(final, params);
    return at + all.length;
  }

  private act(final: string, params: string): void {
    if (final === "m") {
      this.style = this.shared(restyled(this.style, params));
      return;
    }
    const given = Number.parseInt(params, 10);
    const count = Math.min(Number.isNaN(given) || given === 0 ? 1 : given, LINES_KEPT);
    switch (final) {
      case "A":
        this.row = Math.max(0, this.row - count);
        break;
      case "F":
        this.row = Math.max(0, this.row - count);
        this.column = 0;
        break;
      case "B":
        this.row = Math.min(this.kept.length - 1, this.row + count);
        break;
      case "E":
        this.row = Math.min(this.kept.length - 1, this.row + count);
        this.column = 0;
        break;
      case "C":
        this.column = Math.min(LINE_LENGTH, this.column + count);
        break;
      case "D":
        this.column = Math.max(0, this.column - count);
        break;
      case "G":
        this.column = Math.min(LINE_LENGTH, count - 1);
        break;
      case "K":
        this.eraseInLine(Number.isNaN(given) ? 0 : given);
        break;
      case "J":
        // Clearing the screen keeps the earlier lines: they are output of the program.
        if (Number.isNaN(given) || given === 0) {
          this.eraseInLine(0);
          this.kept.length = this.row + 1;
        }
        break;
    }
  }

  private eraseInLine(which: number): void {
    const line = this.kept[this.row] ?? EMPTY;
    if (which === 2) this.kept[this.row] = EMPTY;
    else if (which === 1) {
      const rest = part(line.segments, this.column, Number.POSITIVE_INFINITY);
      const blank = { text: " ".repeat(this.column), style: PLAIN };
      this.kept[this.row] = { segments: [blank, ...rest], cut: line.cut };
    } else this.kept[this.row] = { segments: part(line.segments, 0, this.column), cut: false };
  }

  private newline(): void {
    this.column = 0;
    this.row += 1;
    if (this.row < this.kept.length) return;
    this.kept.push(EMPTY);
    // Remove the oldest lines in large batches, so that the cost per line is negligible.
    if (this.kept.length > this.mostLines * 1.1) {
      const over = this.kept.length - this.mostLines;
      this.kept.splice(0, over);
      this.gone += over;
      this.row -= over;
    }
  }

  private write(text: string): void {
    const line = this.kept[this.row] ?? EMPTY;
    const length = lengthOf(line.segments);
    const room = this.mostColumns - this.column;
    const fits = text.length > room ? text.slice(0, Math.max(0, room)) : text;
    const cut = line.cut || fits.length < text.length;
    if (fits === "") {
      if (cut !== line.cut) this.kept[this.row] = { segments: line.segments, cut };
      return;
    }
    const end = this.column + fits.length;
    let segments: Segment[];
    if (this.column >= length) {
      segments = line.segments.slice();
      if (this.column > length) add(segments, " ".repeat(this.column - length), PLAIN);
      add(segments, fits, this.style);
    } else {
      segments = part(line.segments, 0, this.column);
      add(segments, fits, this.style);
      for (const after of part(line.segments, end, Number.POSITIVE_INFINITY)) add(segments, after.text, after.style);
    }
    this.kept[this.row] = { segments, cut };
    this.column = end;
  }

  private shared(style: Style): Style {
    const key = JSON.stringify(style);
    const known = this.styles.get(key);
    if (known !== undefined) return known;
    // A program that uses a new colour for every character would fill the cache without limit.
    if (this.styles.size > 4_096) this.styles.clear();
    this.styles.set(key, style);
    return style;
  }
}

/** Returns all of a program's output without escape sequences, as its terminal showed it. */
export function plainText(output: string): string {
  const text = new AnsiText(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
  text.feed(output);
  return text.plain();
}

/** Returns the text of a line without its styles. */
export function textOf(line: Line): string {
  return line.segments.map(({ text }) => text).join("");
}

function lengthOf(segments: readonly Segment[]): number {
  let length = 0;
  for (const segment of segments) length += segment.text.length;
  return length;
}

/** Returns the segments between two columns. */
function part(segments: readonly Segment[], from: number, to: number): Segment[] {
  const found: Segment[] = [];
  let at = 0;
  for (const { text, style } of segments) {
    const piece = text.slice(Math.max(0, from - at), Math.max(0, to - at));
    if (piece !== "") found.push({ text: piece, style });
    at += text.length;
  }
  return found;
}

function add(segments: Segment[], text: string, style: Style): void {
  const last = segments.at(-1);
  if (last?.style === style) segments[segments.length - 1] = { text: last.text + text, style };
  else segments.push({ text, style });
}

/** Applies the parameters of `CSI … m` to a style. */
function restyled(before: Style, params: string): Style {
  const style: Style = { ...before };
  const codes = params.split(/[;:]/).map((code) => (code === "" ? 0 : Number.parseInt(code, 10)));
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    if (code === 38 || code === 48) {
      const { colour, used } = extended(codes, at + 1);
      if (colour !== undefined) style[code === 38 ? "fg" : "bg"] = colour;
      at += used;
    } else apply(style, code);
  }
  return style;
}

function apply(style: Style, code: number): void {
  if (code === 0) for (const key of Object.keys(style)) delete style[key as keyof Style];
  else if (code === 1) style.bold = true;
  else if (code === 2) style.dim = true;
  else if (code === 3) style.italic = true;
  else if (code === 4 || code === 21) style.underline = true;
  else if (code === 7) style.inverse = true;
  else if (code === 9) style.strike = true;
  else if (code === 22) {
    delete style.bold;
    delete style.dim;
  } else if (code === 23) delete style.italic;
  else if (code === 24) delete style.underline;
  else if (code === 27) delete style.inverse;
  else if (code === 29) delete style.strike;
  else if (code >= 30 && code <= 37) style.fg = code - 30;
  else if (code === 39) delete style.fg;
  else if (code >= 40 && code <= 47) style.bg = code - 40;
  else if (code === 49) delete style.bg;
  else if (code >= 90 && code <= 97) style.fg = code - 82;
  else if (code >= 100 && code <= 107) style.bg = code - 92;
}

/** Parses a colour of the 256-colour palette, or an RGB colour. */
function extended(codes: readonly number[], at: number): { colour?: number | string; used: number } {
  if (codes[at] === 5) {
    const colour = fromTable(codes[at + 1] ?? 0);
    return colour === undefined ? { used: 2 } : { colour, used: 2 };
  }
  if (codes[at] === 2) {
    const parts = [1, 2, 3].map((offset) => Math.min(255, Math.max(0, codes[at + offset] || 0)));
    return { colour: `rgb(${parts.join(" ")})`, used: 4 };
  }
  return { used: 1 };
}

function fromTable(index: number): number | string | undefined {
  if (!(index >= 0 && index <= 255)) return undefined;
  if (index < 16) return index;
  if (index >= 232) {
    const grey = 8 + (index - 232) * 10;
    return `rgb(${grey} ${grey} ${grey})`;
  }
  const cube = index - 16;
  const level = (step: number) => (step === 0 ? 0 : 55 + step * 40);
  return `rgb(${level(Math.floor(cube / 36))} ${level(Math.floor(cube / 6) % 6)} ${level(cube % 6)})`;
}
