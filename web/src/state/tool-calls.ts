/** Tool calls, as views describe them: kind, command, changed files, and the tally of many. Pure. */

import type { AcpObject, By, Item, TerminalCommand, ToolCall } from "@acpd/client";

import { diffOfTexts, parseUnified } from "../text/diff.ts";
import { quoted } from "../text/shell.ts";
import { isObject, locationsOf, objects, text } from "./acp.ts";

/** Returns whether an item is a read or a search that has succeeded and contains nothing else. */
export function isLookup(item: Item, children: readonly Item[]): boolean {
  return (
    item.type === "toolCall" &&
    (item.kind === "read" || item.kind === "search") &&
    item.status === "completed" &&
    (item.outcome == null || item.outcome === "completed") &&
    children.length === 0
  );
}

/**
 * Returns the title of a tool call. Many agents title a command with its words in a row, which as a line would run another
 * command: in the title that is returned, they are quoted.
 */
export function titleOf(item: Item & ToolCall): string {
  const title = item.title ?? item.name ?? text(item.toolCall?.title) ?? "Tool call";
  const words = wordsIn(item.toolCall?.rawInput);
  return title.replace(words.join(" "), () => lineOf(words) ?? "");
}

/** Returns the command of a tool call's input, as a shell reads it. */
export function commandOf(input: unknown): string | undefined {
  return lineOf(wordsIn(input));
}

/** Returns the command of a terminal, as a shell reads it: the quotes show what is really one word. */
export function commandLine({ command, args }: Pick<TerminalCommand, "command" | "args">): string {
  return lineOf([command ?? "", ...(args ?? [])])!;
}

/** Returns the words of a tool call's command. A single one may be a whole line. */
function wordsIn(input: unknown): string[] {
  if (!isObject(input)) return [];
  const words = [input.command ?? input.cmd, input.args ?? []].flat();
  return words.every((word) => typeof word === "string") ? words : [];
}

function lineOf(words: readonly string[]): string | undefined {
  return words.length > 1 ? words.map(quoted).join(" ") : words[0];
}

/** Returns whether an item ended without being carried out: it was rejected, failed or was interrupted. */
export function isUnmade(item: Item): boolean {
  return item.outcome === "failed" || item.outcome === "interrupted" || (item.type === "toolCall" && item.status === "failed");
}

/** Returns whether a command has failed. */
export function hasFailed(item: Item & TerminalCommand): boolean {
  return item.outcome === "failed" || (item.exitCode != null && item.exitCode !== 0);
}

export interface Change {
  readonly path: string;
  readonly added: number;
  readonly removed: number;
}

const changes = new WeakMap<object, Change>();

/** Returns the changed lines of an ACP diff, or of a written file. */
function changeOf(source: AcpObject): Change | undefined {
  const known = changes.get(source);
  if (known !== undefined) return known;
  const path = text(source.path);
  if (path === undefined) return undefined;
  const after = text(source.newText);
  const files =
    after === undefined ? parseUnified(text(source.diff) ?? "") : [diffOfTexts(path, text(source.oldText), after)];
  const sum = (of: "added" | "removed") => files.reduce((all, file) => all + file[of], 0);
  const change = { path, added: sum("added"), removed: sum("removed") };
  changes.set(source, change);
  return change;
}

/**
 * Returns the files that items have changed, or are about to change. A change that a call describes and the daemon wrote counts
 * once, and one that was not made does not count.
 */
export function changesOf(items: readonly Item[]): Change[] {
  const made = items.filter((item) => !isUnmade(item));
  const files = made.filter((item) => item.type === "fileChange");
  const paths = new Set(files.map(({ path }) => path));
  const described = made.flatMap((item) =>
    item.type === "toolCall"
      ? objects(item.toolCall?.content).filter(({ type, path }) => type === "diff" && !paths.has(String(path)))
      : [],
  );
  // The daemon and the call may report the same lines.
  const key = (file: object) => JSON.stringify(changeOf(file as AcpObject));
  const byDaemon = new Set(files.flatMap((file) => (file.replaced == null ? [] : key(file))));
  const once = files.filter((file) => file.replaced != null || !byDaemon.has(key(file)));
  return [...once, ...described].flatMap((source) => changeOf(source as AcpObject) ?? []);
}

/** Returns the sum of the changed lines. */
export function sumOf(list: readonly Change[]): { added: number; removed: number } {
  return list.reduce((sum, { added, removed }) => ({ added: sum.added + added, removed: sum.removed + removed }), {
    added: 0,
    removed: 0,
  });
}

export interface Tally {
  reads: number;
  searches: number;
  commands: number;
  fetches: number;
  others: number;
  failed: number;
  /** Calls that a user or a rule rejected: they have done nothing, and are in no other count. */
  rejected: number;
}

/** Counts the work of a turn. A file that was read twice counts once, and so does a command that a call runs in a terminal. */
export function tallyOf(items: readonly Item[], isRejected: (itemId: string) => boolean = () => false): Tally {
  const tally: Tally = { reads: 0, searches: 0, commands: 0, fetches: 0, others: 0, failed: 0, rejected: 0 };
  const read = new Set<string>();
  const shown = terminalsOf(items);
  const called = new Set<string>();
  for (const item of items) {
    if (item.type === "terminalCommand") {
      const wasCalled = called.delete(commandLine(item));
      if (wasCalled || shown.has(item.terminalId)) continue;
      tally.commands += 1;
      if (hasFailed(item)) tally.failed += 1;
    } else if (item.type === "toolCall") {
      if (isUnmade(item) && isRejected(item.itemId)) {
        tally.rejected += 1;
        continue;
      }
      if (item.status === "failed" || item.outcome === "failed") tally.failed += 1;
      if (item.kind === "execute") called.add(commandOf(item.toolCall?.rawInput) ?? titleOf(item));
      const counted = COUNTED[item.kind ?? "other"];
      if (item.kind === "read") read.add(locationsOf(item.toolCall)[0]?.path ?? item.itemId);
      else if (counted !== undefined) tally[counted] += 1;
    }
  }
  tally.reads = read.size;
  return tally;
}

/** Edits are counted by their files. */
const COUNTED: Record<string, keyof Tally | undefined> = {
  search: "searches",
  execute: "commands",
  fetch: "fetches",
  other: "others",
};

/** Returns whether the item is a command that a user ran, which is no work of the agent. */
export function isUserCommand(item: Item): item is Item & TerminalCommand & { requestedBy: By } {
  return item.type === "terminalCommand" && item.requestedBy != null;
}

/** Returns the terminals that are part of a tool call. */
function terminalsOf(items: readonly Item[]): Set<string> {
  return new Set(
    items.flatMap((item) =>
      item.type === "toolCall" ? objects(item.toolCall?.content).flatMap(({ terminalId }) => text(terminalId) ?? []) : [],
    ),
  );
}

/** Describes a tally: "read 6 files", "searched twice", "ran 2 commands". */
export function wordsOf({ reads, searches, commands, fetches, others }: Tally): string[] {
  const said: string[] = [];
  if (reads > 0) said.push(`read ${reads} ${reads === 1 ? "file" : "files"}`);
  if (searches > 0) said.push(`searched ${searches === 1 ? "once" : searches === 2 ? "twice" : `${searches} times`}`);
  if (commands > 0) said.push(`ran ${commands} ${commands === 1 ? "command" : "commands"}`);
  if (fetches > 0) said.push(`fetched ${fetches} ${fetches === 1 ? "page" : "pages"}`);
  if (others > 0) said.push(`used ${others} other ${others === 1 ? "tool" : "tools"}`);
  return said;
}
