import { expect, test } from "vitest";

import { answersOf, complaint, fieldsOf, type Filled, startOf } from "./form.ts";

const SCHEMA = {
  type: "object",
  required: ["name", "colour", "tags"],
  properties: {
    name: { type: "string", title: "Name", minLength: 2, maxLength: 4 },
    mail: { type: "string", format: "email" },
    home: { type: "string", format: "uri" },
    day: { type: "string", format: "date" },
    at: { type: "string", format: "date-time" },
    code: { type: "string", pattern: "^[a-z]+$" },
    colour: { type: "string", enum: ["red", "green"], enumNames: ["Red", "Green"] },
    size: { type: "string", oneOf: [{ const: "s", title: "Small", description: "fits most" }, { const: "l", title: "Large" }], default: "l" },
    age: { type: "integer", minimum: 0, maximum: 150 },
    ratio: { type: "number", default: 0.5 },
    sure: { type: "boolean", default: true },
    tags: { type: "array", minItems: 1, maxItems: 2, items: { type: "string", enum: ["a", "b", "c"] }, default: ["b"] },
    titled: { type: "array", items: { anyOf: [{ const: "x", title: "Ex" }] } },
    odd: { type: "object" },
  },
};

const fields = fieldsOf(SCHEMA);
const field = (key: string) => fields.find((one) => one.key === key)!;

test("each property is a field of its kind, in the schema's order", () => {
  expect(fields.map(({ key, kind }) => [key, kind])).toEqual([
    ["name", "text"], ["mail", "text"], ["home", "text"], ["day", "text"], ["at", "text"], ["code", "text"],
    ["colour", "choice"], ["size", "choice"], ["age", "integer"], ["ratio", "number"], ["sure", "boolean"],
    ["tags", "choices"], ["titled", "choices"], ["odd", "json"],
  ]);
});

test("choices have their titles", () => {
  expect(field("colour").choices).toEqual([{ value: "red", title: "Red" }, { value: "green", title: "Green" }]);
  expect(field("size").choices[0]).toEqual({ value: "s", title: "Small", description: "fits most" });
  expect(field("titled").choices).toEqual([{ value: "x", title: "Ex" }]);
});

test("defaults are filled in", () => {
  expect(startOf(fields)).toMatchObject({ name: "", size: "l", ratio: "0.5", sure: true, tags: ["b"], odd: "" });
});

test.each<[string, Filled, string | undefined]>([
  ["name", "", "Required"],
  ["name", "a", "At least 2 characters"],
  ["name", "abcde", "At most 4 characters"],
  // Four characters of eight UTF-16 units.
  ["name", "🐟🐟🐟🐟", undefined],
  ["mail", "", undefined],
  ["mail", "nobody", "Must be an email address"],
  ["mail", "a@b.c", undefined],
  ["home", "example.com", "Must be an address, like https://example.com"],
  ["day", "31.3.2026", "Must be a date, like 2026-03-31"],
  ["at", "soon", "Must be a date and a time"],
  ["code", "A1", "Doesn’t match the required format (lower case)"],
  ["code", "abc", undefined],
  ["colour", "", "Required"],
  ["colour", "blue", "Choose one of these"],
  ["age", "1.5", "Must be a whole number"],
  ["age", "-1", "Must be 0 or more"],
  ["age", "151", "Must be 150 or less"],
  ["age", "ten", "Must be a number"],
  ["age", "1e2", undefined],
  ["ratio", "Infinity", "Must be a number"],
  ["tags", [], "Choose at least 1"],
  ["tags", ["a", "b", "c"], "Choose at most 2"],
  ["titled", [], undefined],
  ["odd", "{", "Must be valid JSON"],
])("%s filled with %j", (key, filled, said) => {
  expect(complaint(field(key), filled)).toBe(said);
});

test("answers have the schema's types; what is empty and not required is left out", () => {
  const form = { ...startOf(fields), name: "Ada", colour: "red", age: "37", tags: ["c", "a"], odd: '{"x":[1]}', at: "2026-03-31T10:00:00Z" };
  expect(answersOf(fields, form)).toEqual({
    name: "Ada", colour: "red", size: "l", age: 37, ratio: 0.5, sure: true, tags: ["a", "c"], odd: { x: [1] }, at: "2026-03-31T10:00:00Z",
  });
});

test("a time without a zone is the person's own", () => {
  const [at] = fieldsOf({ properties: { at: { type: "string", format: "date-time" } } });
  expect(answersOf([at!], { at: "2026-03-31T10:00" })).toEqual({ at: new Date("2026-03-31T10:00").toISOString() });
});

test("a pattern that could take for ever is left to the agent", () => {
  const [endless] = fieldsOf({ properties: { x: { type: "string", pattern: "^(a+)+$" } } });
  expect(complaint(endless!, `${"a".repeat(40)}!`)).toBeUndefined();
});

test.each([
  ["^[a-z0-9-]+$", "A", "Doesn’t match the required format (lower case, digits and dashes)"],
  ["^\\w+@acme$", "x", "Doesn’t match the required format (^\\w+@acme$)"],
  [`^${"a".repeat(80)}$`, "x", "Doesn’t match the required format"],
])("the format %s is described, if it is short", (pattern, value, words) => {
  expect(complaint(fieldsOf({ properties: { x: { type: "string", pattern } } })[0]!, value)).toBe(words);
});

test("a broken pattern is none", () => {
  const [broken] = fieldsOf({ properties: { x: { type: "string", pattern: "(" } } });
  expect(complaint(broken!, "a")).toBeUndefined();
});

test("a property named like a part of every object is a property", () => {
  const odd = fieldsOf(JSON.parse('{"properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}}}'));
  const form = JSON.parse('{"__proto__":"x","constructor":"y"}');
  expect(JSON.stringify(answersOf(odd, form))).toBe('{"__proto__":"x","constructor":"y"}');
});

test("what is no schema has no fields", () => {
  for (const schema of [null, undefined, 1, "x", [], {}, { properties: [] }]) expect(fieldsOf(schema)).toEqual([]);
});
