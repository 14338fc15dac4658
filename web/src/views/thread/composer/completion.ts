// Completion of slash commands.

import type { Command } from "../../../state/acp.ts";

/** Maximum number of shown commands. */
const SHOWN = 50;

/** Returns the commands that match the text before the caret; none if it is not the start of a command. */
export function fitting(text: string, caret: number, commands: readonly Command[]): Command[] {
  const typed = /^\/(\S*)$/.exec(text.slice(0, caret))?.[1]?.toLowerCase();
  if (typed === undefined || /^\S/.test(text.slice(caret))) return [];
  const begins = commands.filter((command) => command.name.toLowerCase().startsWith(typed));
  const has = commands.filter(
    (command) => !begins.includes(command) && command.name.toLowerCase().includes(typed),
  );
  return [...begins, ...has].slice(0, SHOWN);
}

/** Returns the text with the completed command, and the new caret position. */
export function completed(text: string, caret: number, command: Command): { text: string; caret: number } {
  const before = `/${command.name} `;
  return { text: before + text.slice(caret).replace(/^\s+/, ""), caret: before.length };
}

/** Returns the hint of a command, while nothing follows it. */
export function hintFor(text: string, commands: readonly Command[]): string | undefined {
  const name = /^\/(\S+)\s*$/.exec(text)?.[1];
  return commands.find((command) => command.name === name)?.hint;
}
