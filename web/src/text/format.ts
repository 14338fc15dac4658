// Human-readable numbers, paths and times.

import { visibleLine } from "./bidi-guard.ts";

/** Returns a path relative to the thread's directory, with invisible characters escaped. Paths outside of it stay absolute. */
export function shownPath(path: string, cwd: string): string {
  return visibleLine(below(path, cwd) ?? path);
}

/** Returns the part of a path below a directory, if it is below it. */
function below(path: string, cwd: string): string | undefined {
  const folder = cwd.endsWith("/") ? cwd : `${cwd}/`;
  return cwd !== "" && path.startsWith(folder) && path.length > folder.length ? path.slice(folder.length) : undefined;
}

/**
 * Returns the path of a file in a unified diff as it is elsewhere: diffs omit the first slash of absolute paths. `paths` are the
 * files that the diff may be about.
 */
export function pathOfDiff(path: string, cwd: string, paths: readonly string[] = []): string {
  const rooted = `/${path}`;
  return paths.includes(rooted) || (!paths.includes(path) && below(rooted, cwd) !== undefined) ? rooted : path;
}

/**
 * Returns words in which the paths below the thread's directory are relative. Only where a path can begin is one found: the
 * directory may also be a part of a longer path.
 */
export function shortPaths(words: string, cwd: string): string {
  const folder = cwd.endsWith("/") ? cwd : `${cwd}/`;
  if (folder === "/") return words;
  return words.replaceAll(folder, (found, at: number) => (at === 0 || /[\s"'`([{=,;]/.test(words[at - 1]!) ? "" : found));
}

/** Returns what an "always" answer covers, such as `changing src/a.rs`, with the path of a file relative to the thread's directory. */
export function shownEffect(holds: string, cwd: string): string {
  const [, verb, path] = /^(reading|searching|changing|deleting|moving) (\/.+)$/s.exec(holds) ?? [];
  return verb === undefined ? visibleLine(holds) : `${verb} ${shownPath(path!, cwd)}`;
}

const whole = new Intl.NumberFormat("en");

export function count(value: number): string {
  return whole.format(value);
}

/** 1,234 → `1.2k`. */
export function short(value: number): string {
  if (value < 1_000) return String(Math.round(value));
  if (value < 999_500) return `${trimmed(value / 1_000)}k`;
  return `${trimmed(value / 1_000_000)}M`;
}

function trimmed(value: number): string {
  return value < 10 ? value.toFixed(1).replace(/\.0$/, "") : String(Math.round(value));
}

export function bytes(value: number): string {
  if (value < 1_000) return `${value} B`;
  if (value < 1_000_000) return `${trimmed(value / 1_000)} kB`;
  return `${trimmed(value / 1_000_000)} MB`;
}

/** Formats a length of time. It is rounded to its smallest unit first, so that no unit is full: "2 min 0 s". */
export function duration(milliseconds: number): string {
  if (milliseconds < 100) return "<0.1 s";
  if (milliseconds < 9_950) return `${(milliseconds / 1_000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1_000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Formats an amount in the agent's currency, with more digits for a small amount. */
export function money(amount: number, currency: string): string {
  const digits = amount !== 0 && Math.abs(amount) < 0.1 ? 4 : 2;
  try {
    return new Intl.NumberFormat("en", { style: "currency", currency, maximumFractionDigits: digits }).format(amount);
  } catch {
    return `${amount.toFixed(digits)} ${currency}`;
  }
}

/** Returns words with a period at the end, unless they end with another mark: browsers' own errors have none. */
export function withPeriod(words: string): string {
  return /[.!?]$/.test(words) ? words : `${words}.`;
}

/** `in_progress` → `in progress`. */
export function words(name: string): string {
  return name.replace(/[_-]+/g, " ");
}

/** Maximum length of the first words of a text, in characters. */
const FIRST = 80;

/** Returns the first words of a text in one line, without Markdown's marks; an ellipsis marks omitted text. */
export function firstWords(text: string, length = FIRST): string {
  const line = text.slice(0, length * 3).replace(/[*_`#>]+/g, "").replace(/\s+/g, " ").trim();
  const letters = [...line];
  if (letters.length <= length && text.length <= length * 3) return line;
  return `${letters.slice(0, length).join("").replace(/\s+\S*$/, "")}…`;
}

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const SECONDS = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

/** Clocks may be wrong, but later times than this are no dates. */
const LATEST = 8.64e15;

function formatted(milliseconds: number, ...formats: readonly Intl.DateTimeFormat[]): string {
  if (!(Math.abs(milliseconds) <= LATEST)) return "";
  return formats.map((format) => format.format(milliseconds)).join(" ");
}

/** Formats a time: `16:59` today, `27 Nov 16:59` on other days of this year, and with the year else. */
export function dayAndClock(milliseconds: number, now = Date.now()): string {
  const [date, today] = [new Date(milliseconds), new Date(now)];
  if (date.toDateString() === today.toDateString()) return formatted(milliseconds, CLOCK);
  return formatted(milliseconds, date.getFullYear() === today.getFullYear() ? DAY : DATE, CLOCK);
}

/** Formats a time in full, for titles: `27 Nov 2026 16:59:03`. */
export function dateAndTime(milliseconds: number): string {
  return formatted(milliseconds, DATE, SECONDS);
}
