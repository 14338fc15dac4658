// Defensive access to ACP's objects: they come unchanged from agents, and any member may be missing or malformed.
//
// In: `AcpObject` and `Json` of the app protocol. Out: the members that views show, typed. Malformed members are
// omitted here and shown raw by the views.

import type { AcpObject } from "@acpd/client";

import { visibleLine } from "../text/bidi-guard.ts";

export type { AcpObject };

export function isObject(value: unknown): value is AcpObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export function number(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

export function objects(value: unknown): AcpObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

export interface Location {
  path: string;
  line?: number;
}

/** Returns the locations of a tool call. */
export function locationsOf(toolCall: AcpObject | null | undefined): Location[] {
  return objects(toolCall?.locations).flatMap((location) => {
    const path = text(location.path);
    if (path === undefined) return [];
    const line = number(location.line);
    return [line === undefined ? { path } : { path, line }];
  });
}

export interface Choice {
  value: string;
  /** In one line, with invisible characters escaped, as are the names below. */
  name: string;
  description?: string;
  /** The heading of its group. */
  group?: string;
}

/** An option of an agent, as in `thread.configOptions`. */
export interface ConfigOption {
  id: string;
  name: string;
  description?: string;
  category?: string;
  value: string | boolean;
  /** Absent for a boolean option. */
  choices?: Choice[];
}

/** Parses an option; returns `undefined` for an unknown kind. */
export function configOption(option: AcpObject): ConfigOption | undefined {
  const id = text(option.id);
  const value = option.currentValue;
  if (id === undefined || (typeof value !== "string" && typeof value !== "boolean")) return undefined;
  const read: ConfigOption = { id, name: visibleLine(text(option.name) ?? id), value };
  const description = text(option.description);
  if (description !== undefined) read.description = description;
  const category = text(option.category);
  if (category !== undefined) read.category = category;
  if (typeof value === "boolean") return read;
  read.choices = objects(option.options).flatMap((entry) => {
    const group = text(entry.name) ?? text(entry.group);
    return Array.isArray(entry.options)
      ? objects(entry.options).flatMap((inner) => choice(inner, "value", group))
      : choice(entry, "value");
  });
  return read;
}

/** Returns the modes of ACP's `SessionModeState`. */
export function modesOf(modes: AcpObject | null | undefined): Choice[] {
  return objects(modes?.availableModes).flatMap((mode) => choice(mode, "id"));
}

function choice(entry: AcpObject, key: string, group?: string): Choice[] {
  const value = text(entry[key]);
  if (value === undefined) return [];
  const read: Choice = { value, name: visibleLine(text(entry.name) ?? value) };
  const description = text(entry.description);
  if (description !== undefined) read.description = description;
  if (group !== undefined) read.group = visibleLine(group);
  return [read];
}

export interface Command {
  name: string;
  description: string;
  /** Description of the command's input. */
  hint?: string;
  /** Whether it is a skill of the agent. */
  skill?: true;
}

/** Returns the commands of ACP's `available_commands_update`. */
export function commandsOf(update: AcpObject | null | undefined): Command[] {
  return objects(update?.availableCommands).flatMap((command) => {
    const name = text(command.name);
    const kind = text(command.type) ?? "command";
    // Other kinds might not be invoked by a slash.
    if (name === undefined || (kind !== "command" && kind !== "skill")) return [];
    const read: Command = { name: name.replace(/^\//, ""), description: text(command.description) ?? "" };
    const hint = isObject(command.input) ? text(command.input.hint) : undefined;
    if (hint !== undefined) read.hint = hint;
    if (kind === "skill") read.skill = true;
    return [read];
  });
}

/** Returns the text of a prompt's blocks. */
export function contentText(blocks: readonly AcpObject[]): string {
  return blocks.flatMap((block) => (block.type === "text" ? (text(block.text) ?? "") : [])).join("\n");
}

/** Returns a suggested prompt as text: its links are their addresses. */
export function suggestedText(blocks: readonly AcpObject[]): string {
  const parts = blocks.map((block) => text(block.type === "resource_link" ? block.uri : block.text)?.trim() ?? "");
  return parts.filter((part) => part !== "").join(" ");
}

/** Returns whether the agent's `initialize` response says that it accepts messages during a turn. */
export function steers(initialize: unknown): boolean {
  const meta = isObject(initialize) && isObject(initialize._meta) ? initialize._meta : {};
  return isObject(meta.steering) && meta.steering.supported === true;
}

/** Supported contents of a prompt, besides text and links. */
export interface PromptCapabilities {
  image: boolean;
  audio: boolean;
  embeddedContext: boolean;
}

/** Returns what the agent calls itself in its `initialize` response. */
export function agentNameOf(initialize: unknown): string | undefined {
  const info = isObject(initialize) && isObject(initialize.agentInfo) ? initialize.agentInfo : {};
  return [info.title, info.name].find((name): name is string => typeof name === "string" && name.trim() !== "");
}

/** Returns the capabilities that the agent's `initialize` response declares. */
export function promptCapabilitiesOf(initialize: unknown): PromptCapabilities {
  const agent = isObject(initialize) && isObject(initialize.agentCapabilities) ? initialize.agentCapabilities : {};
  const prompt = isObject(agent.promptCapabilities) ? agent.promptCapabilities : {};
  return {
    image: prompt.image === true,
    audio: prompt.audio === true,
    embeddedContext: prompt.embeddedContext === true,
  };
}
