/**
 * Reads what was pushed. Only the daemon has the keys to push something readable, but what it pushes contains text of agents,
 * and a worker may be older than the daemon. So nothing is used that has not the expected type. Pure.
 */

import type { CallSubject, PermissionOption, TurnStatus, Variable, WaitingQuestion } from "@acpd/client";

import type { News } from "../state/notice.ts";

/** Maximum size of a payload, in UTF-16 units. The daemon sends at most 3 KiB, and push services take 4 KiB. */
const LONGEST = 8_192;
/** Maximum number of effects or options of a question. More do not fit into a payload. */
const MOST = 64;

export type Payload =
  | { readonly type: "test" }
  /** The browser will be signed out within a day; if `canStay`, not if the user opens the page. */
  | { readonly type: "signOut"; readonly canStay: boolean }
  | {
      readonly type: "news";
      readonly threadId: string;
      readonly news: News;
      /** Whether the user may answer the question, and it has nothing that this worker does not know. */
      readonly canAnswer: boolean;
    };

/** Reads a payload; returns `undefined` if it cannot be shown. A question that cannot be read is left out. */
export function readPayload(text: string | undefined): Payload | undefined {
  const payload = text === undefined || text.length > LONGEST ? undefined : parse(text);
  if (!isRecord(payload)) {
    return undefined;
  }
  const { type, threadId, agentType, cwd, name, status, error, question, canAnswer } = payload;
  if (type === "test") {
    return { type };
  }
  if (type === "signOut") {
    return { type, canStay: payload.canStay === true };
  }
  if (type !== "waiting" && type !== "done" && type !== "failed") {
    return undefined;
  }
  if (!isText(threadId) || threadId === "") {
    return undefined;
  }
  const read = type === "waiting" ? readQuestion(question) : undefined;
  const news: News = {
    type,
    agent: isText(agentType) ? agentType : "The agent",
    cwd: isText(cwd) ? cwd : "",
    ...(isText(name) && { name }),
    ...(isText(status) && { status: status as TurnStatus }),
    ...(isText(error) && { error }),
    ...(read && { question: read }),
  };
  return { type: "news", threadId, news, canAnswer: canAnswer === true && isText(cwd) && isKnown(question) };
}

function readQuestion(value: unknown): WaitingQuestion | undefined {
  if (!isRecord(value)) {
    return undefined;
  }
  const { requestId, type, title, asker, more, subjects, options } = value;
  if (!isText(requestId) || requestId === "" || !isText(title) || typeof more !== "number" || !Number.isSafeInteger(more) || more < 0) {
    return undefined;
  }
  const read = { subjects: list(subjects, readSubject), options: list(options, readOption) };
  // A question with a part that cannot be read would be shown as less than it is.
  if (read.subjects === undefined || read.options === undefined) {
    return undefined;
  }
  const of = { requestId, type: type === "permission" ? type : "input", title, ...(isText(asker) && { asker }) } as const;
  return { ...of, more, subjects: read.subjects, options: read.options };
}

/** Reads each part of a list. Returns `null` if there is no list, and `undefined` if a part cannot be read. */
function list<T>(value: unknown, read: (part: unknown) => T | undefined): T[] | null | undefined {
  if (value === undefined || value === null) {
    return null;
  }
  if (!Array.isArray(value) || value.length > MOST) {
    return undefined;
  }
  const parts = value.map(read);
  return parts.some((part) => part === undefined) ? undefined : (parts as T[]);
}

function readOption(value: unknown): PermissionOption | undefined {
  return isRecord(value) && isText(value.optionId) && isText(value.kind)
    ? { optionId: value.optionId, kind: value.kind, name: isText(value.name) ? value.name : "" }
    : undefined;
}

function readVariable(value: unknown): Variable | undefined {
  return isRecord(value) && isText(value.name) && isText(value.value) ? { name: value.name, value: value.value } : undefined;
}

const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  command: ["argv", "cwd", "env"],
  commandLine: ["line", "cwd", "env"],
  file: ["access", "path", "realPath", "diff", "arguments"],
  fetch: ["url", "host"],
  mcp: ["server", "tool", "arguments"],
  tool: ["kind", "name", "arguments"],
  unknown: ["what"],
};

/** Returns whether the effects of a question have no member that this worker does not know. A newer daemon may have added one. */
function isKnown(question: unknown): boolean {
  const subjects = isRecord(question) && Array.isArray(question.subjects) ? question.subjects.filter(isRecord) : [];
  return subjects.every(({ type, ...rest }) => {
    const members = isText(type) && Object.hasOwn(MEMBERS, type) ? MEMBERS[type]! : [];
    return Object.keys(rest).every((name) => members.includes(name));
  });
}

const ACCESS = ["read", "search", "edit", "delete", "move"] as const;

function readSubject(value: unknown): CallSubject | undefined {
  if (!isRecord(value)) {
    return undefined;
  }
  const { type } = value;
  // Absent, or a text. Anything else is something that this worker does not know, and must not seem to be absent.
  const texts = (...names: string[]) => names.every((name) => value[name] == null || isText(value[name]));
  switch (type) {
    case "command": {
      const env = list(value.env, readVariable);
      const { argv, cwd } = value;
      const isRun = Array.isArray(argv) && argv.every(isText) && isText(cwd) && env !== undefined;
      return isRun ? { type, argv, cwd, env } : undefined;
    }
    case "commandLine": {
      const env = list(value.env, readVariable);
      const { line, cwd } = value;
      return isText(line) && isText(cwd) && env !== undefined ? { type, line, cwd, env } : undefined;
    }
    case "file": {
      const { path } = value;
      const access = ACCESS.find((one) => one === value.access);
      return isText(path) && access !== undefined && texts("arguments", "diff", "realPath")
        ? { type, access, path, ...only(value, "arguments", "diff", "realPath") }
        : undefined;
    }
    case "fetch":
      return isText(value.url) && texts("host") ? { type, url: value.url, ...only(value, "host") } : undefined;
    case "mcp":
      return isText(value.server) && texts("tool", "arguments")
        ? { type, server: value.server, ...only(value, "tool", "arguments") }
        : undefined;
    case "tool":
      return isText(value.kind) && texts("name", "arguments")
        ? { type, kind: value.kind, ...only(value, "name", "arguments") }
        : undefined;
    case "unknown":
      return isText(value.what) ? { type, what: value.what } : undefined;
    default:
      // Of a newer daemon. It is shown as something that this page does not know.
      return isText(type) ? ({ type } as unknown as CallSubject) : undefined;
  }
}

/** Returns the members with these names that are texts. */
function only(value: Record<string, unknown>, ...names: string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (isText(value[name]) ? [[name, value[name]]] : [])));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isText = (value: unknown): value is string => typeof value === "string";
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
