// Slash commands, as they are typed.

import type { Command } from "../../../state/acp.ts";

/** Commands shown at most. */
const SHOWN = 50;

/** The commands that fit what stands before the caret; none if that is no command being typed. */
export function fitting(text: string, caret: number, commands: readonly Command[]): Command[] {
  const typed = /^\/(\S*)$/.exec(text.slice(0, caret))?.[1]?.toLowerCase();
  if (typed === undefined || /^\S/.test(text.slice(caret))) return [];
  const begins = commands.filter((command) => command.name.toLowerCase().startsWith(typed));
  const has = commands.filter(
    (command) => !begins.includes(command) && command.name.toLowerCase().includes(typed),
  );
  return [...begins, ...has].slice(0, SHOWN);
}

/** The text with the command written out, and where the caret goes. */
export function completed(text: string, caret: number, command: Command): { text: string; caret: number } {
  const before = `/${command.name} `;
  return { text: before + text.slice(caret).replace(/^\s+/, ""), caret: before.length };
}

/** What the command wants to be told, as long as nothing is written after it. */
export function hintFor(text: string, commands: readonly Command[]): string | undefined {
  const name = /^\/(\S+)\s*$/.exec(text)?.[1];
  return commands.find((command) => command.name === name)?.hint;
}
