// The form of an agent, and its validation.
//
// In: the JSON schema of ACP's elicitation. Out: fields in the schema's order, checks, and the answers as the schema
// requires. A property of an unknown kind is filled in as JSON: no property is omitted.

import { isObject, number, objects, text } from "../../../state/acp.ts";
import { visibleLine } from "../../../text/bidi-guard.ts";

export type FieldKind = "text" | "number" | "integer" | "boolean" | "choice" | "choices" | "json";

export interface FieldChoice {
  value: string;
  title: string;
  description?: string;
}

export interface Field {
  key: string;
  kind: FieldKind;
  title: string;
  description: string;
  required: boolean;
  /** For `text`: `email`, `uri`, `date`, `date-time`, `password`, or any other format of the agent. */
  format: string;
  pattern: string;
  /** For `text` characters, for numbers the bounds, for `choices` the count. */
  least?: number;
  most?: number;
  choices: FieldChoice[];
  start: Filled;
}

/** The value of a field: a text, a check mark, or several choices. */
export type Filled = string | boolean | readonly string[];
export type Form = Readonly<Record<string, Filled>>;

/** Returns the schema's fields. */
export function fieldsOf(schema: unknown): Field[] {
  if (!isObject(schema) || !isObject(schema.properties)) return [];
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  return Object.entries(schema.properties).map(([key, property]) =>
    fieldOf(key, isObject(property) ? property : {}, required.has(key)),
  );
}

export function startOf(fields: readonly Field[]): Form {
  return Object.fromEntries(fields.map((field) => [field.key, field.start]));
}

function fieldOf(key: string, property: Record<string, unknown>, required: boolean): Field {
  const type = text(property.type);
  const items = isObject(property.items) ? property.items : {};
  const choices = type === "array" ? choicesOf(items) : choicesOf(property);
  const kind = kindOf(type, choices.length > 0);
  const field: Field = {
    key,
    kind,
    title: text(property.title) ?? key,
    description: text(property.description) ?? "",
    required,
    format: text(property.format) ?? "",
    pattern: text(property.pattern) ?? "",
    choices,
    start: startingWith(kind, property.default),
  };
  if (field.format === "date-time" && typeof field.start === "string") field.start = localTime(field.start);
  const [least, most] = { text: ["minLength", "maxLength"], choices: ["minItems", "maxItems"] }[kind as string] ?? [
    "minimum",
    "maximum",
  ];
  const [low, high] = [number(property[least ?? ""]), number(property[most ?? ""])];
  if (low !== undefined) field.least = low;
  if (high !== undefined) field.most = high;
  return field;
}

function kindOf(type: string | undefined, hasChoices: boolean): FieldKind {
  if (type === "string") return hasChoices ? "choice" : "text";
  if (type === "array") return hasChoices ? "choices" : "json";
  return type === "number" || type === "integer" || type === "boolean" ? type : "json";
}

function choicesOf(schema: Record<string, unknown>): FieldChoice[] {
  const titled = objects(schema.oneOf).length > 0 ? objects(schema.oneOf) : objects(schema.anyOf);
  if (titled.length > 0) {
    return titled.flatMap((one) => {
      const value = text(one.const);
      if (value === undefined) return [];
      const choice: FieldChoice = { value, title: text(one.title) ?? value };
      const description = text(one.description);
      if (description !== undefined) choice.description = description;
      return [choice];
    });
  }
  const names = Array.isArray(schema.enumNames) ? schema.enumNames : [];
  return (Array.isArray(schema.enum) ? schema.enum : [])
    .filter((value): value is string => typeof value === "string")
    .map((value, at) => ({ value, title: text(names[at]) ?? value }));
}

function startingWith(kind: FieldKind, given: unknown): Filled {
  switch (kind) {
    case "boolean":
      return given === true;
    case "choices":
      return Array.isArray(given) ? given.filter((value): value is string => typeof value === "string") : [];
    case "json":
      return given === undefined ? "" : JSON.stringify(given);
    default:
      return typeof given === "string" || typeof given === "number" ? String(given) : "";
  }
}

/** Converts a time for the browser's field: local, without a zone. */
function localTime(time: string): string {
  const at = new Date(time);
  if (time === "" || Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Returns the validation error of a field; `undefined` if it is valid. */
export function complaint(field: Field, filled: Filled | undefined): string | undefined {
  if (field.kind === "boolean") return undefined;
  if (field.kind === "choices") return aboutChoices(field, Array.isArray(filled) ? filled : []);
  const value = typeof filled === "string" ? filled : "";
  if (value === "") return field.required ? "Required" : undefined;
  switch (field.kind) {
    case "number":
    case "integer":
      return aboutNumber(field, value);
    case "json":
      return parses(value) ? undefined : "Must be valid JSON";
    case "choice":
      return field.choices.some((choice) => choice.value === value) ? undefined : "Choose one of these";
    default:
      return aboutText(field, value);
  }
}

function aboutChoices({ required, least = 0, most, choices }: Field, chosen: readonly string[]): string | undefined {
  const known = chosen.filter((value) => choices.some((choice) => choice.value === value));
  const needed = Math.max(least, required ? 1 : 0);
  // An optional field may be left empty.
  if (known.length < needed && (required || known.length > 0)) return `Choose at least ${needed}`;
  return most !== undefined && known.length > most ? `Choose at most ${most}` : undefined;
}

function aboutNumber({ kind, least, most }: Field, value: string): string | undefined {
  const read = Number(value);
  if (!Number.isFinite(read) || value.trim() === "") return "Must be a number";
  if (kind === "integer" && !Number.isSafeInteger(read)) return "Must be a whole number";
  if (least !== undefined && read < least) return `Must be ${least} or more`;
  return most !== undefined && read > most ? `Must be ${most} or less` : undefined;
}

function aboutText({ least, most, format, pattern }: Field, value: string): string | undefined {
  // JSON Schema counts characters, not UTF-16 units.
  const length = [...value].length;
  if (least !== undefined && length < least) return `At least ${least} characters`;
  if (most !== undefined && length > most) return `At most ${most} characters`;
  if (format === "email" && !/^[^\s@]+@[^\s@]+$/.test(value)) return "Must be an email address";
  if (format === "uri" && !isAddress(value)) return "Must be an address, like https://example.com";
  if (format === "date" && !/^\d{4}-\d\d-\d\d$/.test(value)) return "Must be a date, like 2026-03-31";
  if (format === "date-time" && Number.isNaN(Date.parse(value))) return "Must be a date and a time";
  return fits(pattern, value) ? undefined : `Doesn’t match the required format${formatOf(pattern)}`;
}

/** Maximum length of a pattern that is shown. */
const PATTERN_CHARS = 60;
const CLASSES: Readonly<Record<string, string>> = {
  "a-z": "lower case",
  "A-Z": "upper case",
  "0-9": "digits",
  "\\d": "digits",
  "-": "dashes",
  _: "underscores",
  ".": "dots",
};

/** Describes a pattern in parentheses: the allowed characters in words if it is that simple, else the pattern itself. */
function formatOf(pattern: string): string {
  const parts = /^\^\[((?:a-z|A-Z|0-9|\\d|[-_.])+)\](?:[+*]|\{[\d,]+\})\$$/.exec(pattern)?.[1]?.match(/a-z|A-Z|0-9|\\d|[-_.]/g);
  const names = parts?.map((part) => CLASSES[part] ?? part);
  if (names !== undefined) return ` (${[names.slice(0, -1).join(", "), names.at(-1)].filter(Boolean).join(" and ")})`;
  return pattern.length > PATTERN_CHARS ? "" : ` (${visibleLine(pattern)})`;
}

function isAddress(value: string): boolean {
  try {
    return new URL(value) !== undefined;
  } catch {
    return false;
  }
}

/** Nested repetitions, which can take forever on a short text. */
const ENDLESS = /\([^()]*(?:[+*]|\{\d+,\d*\})[^()]*\)(?:[+*]|\{)|\([^()]*\|[^()]*\)(?:[+*]|\{)|\(.*\(.*[+*{].*\).*\)[+*{]/;

/** Patterns come from agents. A pattern that could block the page is left to the agent to check. */
function fits(pattern: string, value: string): boolean {
  if (pattern === "" || pattern.length > 500 || value.length > 1_000 || ENDLESS.test(pattern)) return true;
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return true;
  }
}

function parses(value: string): boolean {
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}

/** Returns the answers of a valid form. Omits empty optional fields. */
export function answersOf(fields: readonly Field[], form: Form): Record<string, unknown> {
  const answers: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const field of fields) {
    const answer = answerOf(field, form[field.key]);
    if (answer !== undefined) answers[field.key] = answer;
  }
  return { ...answers };
}

function answerOf(field: Field, filled: Filled | undefined): unknown {
  if (field.kind === "boolean") return filled === true;
  if (field.kind === "choices") {
    const chosen = Array.isArray(filled) ? filled : [];
    const ordered = field.choices.map((choice) => choice.value).filter((value) => chosen.includes(value));
    return ordered.length > 0 || field.required ? ordered : undefined;
  }
  const value = typeof filled === "string" ? filled : "";
  if (value === "") return undefined;
  if (field.kind === "number" || field.kind === "integer") return Number(value);
  if (field.kind === "json") return JSON.parse(value);
  // The browser's field has local time without a zone; the schema requires one.
  if (field.format === "date-time" && !/(Z|[+-]\d\d:\d\d)$/i.test(value)) return new Date(value).toISOString();
  return value;
}
