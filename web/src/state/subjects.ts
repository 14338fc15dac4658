// Descriptions of a question's subjects, and of the scope of its answer. The daemon describes each part of a call: an
// answer applies to these parts. The agent's title is only the agent's description. Pure.

import type { Approval, CallSubject } from "@acpd/client";

import { shownPath } from "../text/format.ts";
import { quoted } from "../text/shell.ts";

const FILES = { read: "read", search: "search", edit: "change", delete: "delete", move: "move" } as const;

/** Describes an action: a verb and its object. */
export function deed(subject: CallSubject): { verb: string; what: string } {
  switch (subject.type) {
    case "command":
      return { verb: "run", what: subject.argv.map(quoted).join(" ") };
    case "commandLine":
      return { verb: "run", what: subject.line };
    case "file":
      return { verb: FILES[subject.access], what: subject.path };
    case "fetch":
      return { verb: "fetch", what: subject.url };
    case "mcp":
      return { verb: "call", what: `${subject.tool ?? "a tool"} of the MCP server ${subject.server}` };
    case "tool":
      return { verb: "use", what: subject.name == null ? `a tool of kind ${subject.kind}` : `the tool ${subject.name} of kind ${subject.kind}` };
    case "unknown":
      return { verb: "do", what: `something that is not clear: ${subject.what}` };
    default:
      return { verb: "do", what: "something that this page does not know" };
  }
}

/**
 * Describes a question in one line, with the paths of files relative to the thread's directory. An old question without subjects
 * has only the agent's title.
 */
export function inOneLine({ subjects, title }: Pick<Approval, "subjects" | "title">, cwd = ""): string {
  if (subjects.length === 0) return title;
  const line = (subject: CallSubject) => {
    const { verb, what } = deed(subject);
    return `${verb} ${subject.type === "file" ? shownPath(what, cwd) : what}`;
  };
  return subjects.map(line).join("; ");
}

const OBJECTS: Record<CallSubject["type"], string> = {
  command: "run a command",
  commandLine: "run a command",
  file: "use a file",
  fetch: "fetch an address",
  mcp: "call a tool of an MCP server",
  tool: "use a tool",
  unknown: "do something that is not clear",
};

/** Returns a question's heading, without agent text: the kinds of its actions. */
export function heading(subjects: readonly CallSubject[]): string {
  const kinds = subjects.map((subject) =>
    subject.type === "file" ? `${FILES[subject.access]} a file` : (OBJECTS[subject.type] ?? OBJECTS.unknown),
  );
  return [...new Set(kinds.length === 0 ? [OBJECTS.unknown] : kinds)].join(", ");
}

/** What a question's head says that the agent does with its only file. */
export const FILE_DEEDS = { read: "Read", search: "Search", edit: "Edit", delete: "Delete", move: "Move" } as const;

/** The longest path that a question's head names: the head does not scroll with what is approved. */
const HEAD_PATH = 160;

/** Returns the file that a question's head names: its only subject, unless there is more to say about the path. */
export function fileInHead([subject, ...more]: readonly CallSubject[]): Extract<CallSubject, { type: "file" }> | undefined {
  if (subject?.type !== "file" || more.length > 0 || subject.realPath != null || subject.path.length > HEAD_PATH) {
    return undefined;
  }
  return subject.access in FILE_DEEDS ? subject : undefined;
}

/** Returns a question's title: a sentence without agent text. */
export function titleOf(subjects: readonly CallSubject[]): string {
  const isCommand = subjects.length === 1 && (subjects[0]!.type === "command" || subjects[0]!.type === "commandLine");
  return isCommand ? "Run this command?" : `Allow the agent to ${heading(subjects)}?`;
}

/** Returns whether an option of this kind is an "always" option. */
export function isAlways(kind: string | null | undefined): boolean {
  return kind === "allow_always" || kind === "reject_always";
}

/**
 * Returns whether an agent's title says no more than the only subject does: the same command or path, perhaps in
 * quotes and behind a verb.
 */
export function repeats(title: string, subjects: readonly CallSubject[]): boolean {
  const [subject, ...more] = subjects;
  if (subject === undefined || more.length > 0) return false;
  const { what } = deed(subject);
  const said = title.trim().replace(/^\$ /, "");
  return [said, said.replace(/^\p{L}+:? /u, "")].map(unquoted).some((words) => words === what || (subject.type === "file" && what.endsWith(`/${words}`)));
}

function unquoted(words: string): string {
  return /^(["'`])(.*)\1$/s.exec(words)?.[2] ?? words;
}
