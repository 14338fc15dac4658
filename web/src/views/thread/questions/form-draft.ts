// The half-filled form of an agent. It survives navigation and reloads, and all tabs show the same values.

import { useState } from "preact/hooks";

import { draftOf, formDraft, keepDraft } from "../../../app/drafts.ts";
import { isObject } from "../../../state/acp.ts";
import { type Field, type Filled, type Form, startOf } from "./form.ts";

/** Returns the values of a form, and a function that changes one. Passwords are never stored. */
export function useFormDraft(requestId: string, fields: readonly Field[]): [Form, (key: string, value: Filled) => void] {
  const name = formDraft(requestId);
  const [secrets, setSecrets] = useState<Form>({});
  const form = { ...startOf(fields), ...readDraft(draftOf(name), fields), ...secrets };
  const fill = (key: string, value: Filled) => {
    if (isSecret(fields.find((field) => field.key === key))) {
      setSecrets((before) => ({ ...before, [key]: value }));
      return;
    }
    keepDraft(name, JSON.stringify({ ...readDraft(draftOf(name), fields), [key]: value }));
  };
  return [form, fill];
}

/** Returns the values of a stored draft that fit the fields. */
export function readDraft(text: string, fields: readonly Field[]): Form {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return {};
  }
  const values = isObject(read) ? read : {};
  return Object.fromEntries(
    fields.flatMap((field): [string, Filled][] => {
      const value = Object.hasOwn(values, field.key) ? values[field.key] : undefined;
      return !isSecret(field) && fits(field, value) ? [[field.key, value]] : [];
    }),
  );
}

function isSecret(field: Field | undefined): boolean {
  return field?.format === "password";
}

function fits({ kind }: Field, value: unknown): value is Filled {
  if (kind === "boolean") return typeof value === "boolean";
  if (kind === "choices") return Array.isArray(value) && value.every((part) => typeof part === "string");
  return typeof value === "string";
}
