/** What was pushed, as a notification: hostile payloads, and the questions that have buttons. */

import type { CallSubject, WaitingQuestion } from "@acpd/client";
import { describe, expect, test } from "vitest";

import { asksFor, isStale, mayRefuse, notificationOf, pressed, refusalOf } from "../../src/worker/notification.ts";
import { readPayload } from "../../src/worker/payload.ts";

const command = (line: string): CallSubject => ({ type: "commandLine", line, cwd: "/w" });
const asks = (subject: object, more: object = {}) => ({
  requestId: "q",
  type: "permission",
  title: "Run the tests",
  more: 0,
  subjects: [subject],
  options: [
    { optionId: "a", name: "Yes", kind: "allow_once" },
    { optionId: "b", name: "Yes, always", kind: "allow_always" },
    { optionId: "c", name: "No", kind: "reject_once" },
  ],
  ...more,
});
const waits = (question: object | undefined, more: object = {}) => ({
  type: "waiting",
  threadId: "t",
  agentType: "claude",
  cwd: "/w",
  name: "Heron",
  question,
  canAnswer: true,
  ...more,
});
const shown = (payload: unknown) => notificationOf(readPayload(JSON.stringify(payload)));
const buttons = (payload: unknown) => shown(payload).actions.map(({ title }) => title);

test("a question in one line has the answers of its row, by their ids and kinds", () => {
  const { title, body, tag, requireInteraction, actions, data } = shown(waits(asks(command("cargo test"))));
  expect([title, body, tag, requireInteraction]).toEqual(["Heron is waiting for approval", "Run cargo test", "t", true]);
  expect(actions).toEqual([
    { action: "allow", title: "Allow once" },
    { action: "reject", title: "Reject" },
  ]);
  expect(data).toEqual({
    threadId: "t",
    name: "Heron",
    waiting: true,
    answers: {
      allow: { requestId: "q", optionId: "a", optionKind: "allow_once" },
      reject: { requestId: "q", optionId: "c", optionKind: "reject_once" },
    },
  });
  expect(buttons(waits(asks({ type: "command", argv: ["git", "add", "a b"], cwd: "/w" })))).toEqual(["Allow once", "Reject"]);
  expect(buttons(waits(asks({ type: "file", access: "read", path: "/w/a" })))).toEqual(["Allow once", "Reject"]);
  expect(buttons(waits(asks(command("ls"), { options: [{ optionId: "c", name: "No", kind: "reject_once" }] })))).toEqual(["Reject"]);
});

describe("a notification has no buttons for", () => {
  const fits = command(`echo ${"x".repeat(100 - "Run echo ".length)}`);
  test("a line that operating systems would cut", () => {
    expect(buttons(waits(asks(fits)))).toHaveLength(2);
    expect(buttons(waits(asks(command(`${(fits as { line: string }).line}x`))))).toEqual([]);
    // Each of them is two columns wide.
    expect(buttons(waits(asks(command(`echo ${"漢".repeat(46)}`))))).toEqual([]);
  });
  const cases: Record<string, object> = {
    "a user who may only look on": waits(asks(command("ls")), { canAnswer: false }),
    "an unclear permission to answer": waits(asks(command("ls")), { canAnswer: "yes" }),
    "a thread without a folder": waits(asks({ type: "file", access: "read", path: "/w/a" }), { cwd: undefined }),
    "another folder": waits(asks({ ...command("ls"), cwd: "/etc" })),
    "several effects": waits(asks(command("make"), { subjects: [command("make"), command("make test")] })),
    "a second question": waits(asks(command("ls"), { more: 1 })),
    "a second line": waits(asks(command("ls\nrm -rf /"))),
    "hidden characters": waits(asks(command("ls\u200B"))),
    "a change of a file": waits(asks({ type: "file", access: "edit", path: "/w/a", diff: "+a" })),
    "an environment": waits(asks({ ...command("ls"), env: [{ name: "LD_PRELOAD", value: "/x.so" }] })),
    "a link to elsewhere": waits(asks({ type: "file", access: "read", path: "/w/a", realPath: "/etc/shadow" })),
    "left out subjects": waits(asks(command("ls"), { subjects: undefined })),
    "left out options": waits(asks(command("ls"), { options: null })),
    "two options of a kind": waits(asks(command("ls"), { options: [1, 2].map((n) => ({ optionId: `${n}`, name: "", kind: "allow_once" })) })),
    "only an always": waits(asks(command("ls"), { options: [{ optionId: "b", name: "Allow once", kind: "allow_always" }] })),
    "a form": waits(asks(command("ls"), { type: "input" })),
    "a question of an unknown type": waits(asks(command("ls"), { type: "odd" })),
    "a part of a newer daemon": waits(asks({ type: "portal", to: "elsewhere" })),
    "an effect with more than this worker knows": waits(asks({ ...command("ls"), stdin: "rm -rf /" })),
    "a thread that does not wait": waits(asks(command("ls")), { type: "done" }),
  };
  test.each(Object.entries(cases))("%s", (_, payload) => {
    const { actions, data } = shown(payload);
    expect(actions).toEqual([]);
    expect(data.answers).toEqual({});
    expect(data.threadId).toBe("t");
  });
});

describe("a question with a part that cannot be read is not shown as less than it is", () => {
  const cases: Record<string, object> = {
    "a command that is no list": { type: "command", argv: "ls", cwd: "/w" },
    "an argument that is no text": { type: "command", argv: ["rm", ["-rf"]], cwd: "/w" },
    "a line that is no text": { type: "commandLine", line: { toString: "ls" }, cwd: "/w" },
    "an environment that is no list": { ...command("ls"), env: { LD_PRELOAD: "/x.so" } },
    "a variable without a value": { ...command("ls"), env: [{ name: "LD_PRELOAD" }] },
    "a diff that is no text": { type: "file", access: "read", path: "/w/a", diff: ["+a"] },
    "an unknown access": { type: "file", access: "__proto__", path: "/w/a" },
    "arguments that are no text": { type: "mcp", server: "s", tool: "t", arguments: {} },
    "no type": { line: "ls", cwd: "/w" },
    "no object": [],
  };
  test.each(Object.entries(cases))("%s", (_, subject) => {
    const { body, actions } = shown(waits(asks(subject)));
    expect(body).toBe("claude needs an answer.");
    expect(actions).toEqual([]);
    // Beside a part that can be read as well.
    expect(shown(waits(asks(command("ls"), { subjects: [command("ls"), subject] }))).body).toBe("claude needs an answer.");
  });
  test.each<[string, Partial<Record<keyof WaitingQuestion, unknown>>]>([
    ["no id", { requestId: undefined }],
    ["an id that is no text", { requestId: 7 }],
    ["a number of further questions that is none", { more: "0" }],
    ["a negative number", { more: -1 }],
    ["an endless number", { more: 1e400 }],
    ["options that are no list", { options: { 0: { optionId: "a", kind: "allow_once" } } }],
    ["an option that is none", { options: [null] }],
    ["too many parts", { subjects: Array.from({ length: 100 }, () => command("l")) }],
  ])("%s", (_, more) => {
    expect(shown(waits(asks(command("ls"), more))).body).toBe("claude needs an answer.");
  });
});

test("what cannot be read still shows a notification", () => {
  const unreadable = [
    undefined,
    "",
    "{",
    "null",
    "[]",
    '"waiting"',
    "{}",
    JSON.stringify(waits(undefined, { type: "shutdown" })),
    JSON.stringify(waits(undefined, { threadId: undefined })),
    JSON.stringify(waits(undefined, { threadId: { toString: "t" } })),
    JSON.stringify(waits(undefined, { threadId: "" })),
    JSON.stringify(waits(undefined, { name: "n".repeat(10_000) })),
    `${"[".repeat(5_000)}`,
  ];
  for (const text of unreadable) {
    expect(notificationOf(readPayload(text)), text?.slice(0, 80)).toMatchObject({ title: "acpd has news", tag: "acpd", actions: [], data: {} });
  }
  const odd = shown({ type: "failed", threadId: "t", name: { a: 1 }, agentType: 5, error: ["x"], status: null, cwd: 0, __proto__: { canAnswer: true } });
  expect([odd.title, odd.body]).toEqual(["Untitled thread has failed", "Last turn failed"]);
  expect(shown({ type: "done", threadId: "t" }).body).toBe("The agent has finished.");
});

test("a coming sign-out says what prevents it", () => {
  const stays = shown({ type: "signOut", canStay: true });
  expect(stays).toMatchObject({ title: "You will be signed out of acpd within a day", tag: "acpd-sign-out", actions: [], data: {} });
  expect(stays.body).toContain("Open acpd to stay signed in.");
  for (const canStay of [false, undefined, "yes"]) {
    expect(shown({ type: "signOut", canStay }).body).toContain("sign in again");
  }
});

test("a test says that it is one, and a refused answer stays with its thread", () => {
  expect(shown({ type: "test" })).toMatchObject({ title: "acpd can reach this device", body: "This is a test.", tag: "acpd-test", data: {} });
  const { data } = shown(waits(asks(command("ls"))));
  expect(refusalOf(data, "Already answered.")).toEqual({
    title: "Heron",
    body: "Already answered.",
    tag: "t",
    requireInteraction: false,
    actions: [],
    data: { threadId: "t", name: "Heron", waiting: true },
  });
});

test("the end of an answer concerns only the notification of its question, or shows why it failed where nothing is shown", () => {
  const question = shown(waits(asks(command("ls")))).data;
  const next = shown(waits(asks(command("make"), { requestId: "r" }))).data;
  const onlyReject = shown(waits(asks(command("ls"), { options: [{ optionId: "c", name: "No", kind: "reject_once" }] }))).data;
  const done = shown(waits(undefined, { type: "done" })).data;
  expect([question, onlyReject].map((data) => asksFor(data, "q"))).toEqual([true, true]);
  expect([next, done, refusalOf(question, "Already answered.").data, {}].map((data) => asksFor(data, "q"))).toEqual([false, false, false, false]);
  expect(mayRefuse([], "q")).toBe(true);
  expect(mayRefuse([question], "q")).toBe(true);
  expect(mayRefuse([next], "q")).toBe(false);
  expect(mayRefuse([done], "q")).toBe(false);
  expect(mayRefuse([next, question], "q")).toBe(true);
});

test("a button answers only once its notification has been shown for a second", () => {
  const data = { ...shown(waits(asks(command("ls")))).data, shownAt: 5_000 };
  expect(pressed(data, "allow", 6_000)?.optionId).toBe("a");
  expect(pressed(data, "reject", 6_000)?.optionId).toBe("c");
  expect(pressed(data, "allow", 5_999)).toBeUndefined();
  // A clock that was set back.
  expect(pressed(data, "allow", 4_000)).toBeUndefined();
  for (const action of ["", "constructor", "__proto__"]) {
    expect(pressed(data, action, 9_000)).toBeUndefined();
  }
  expect(pressed({ ...data, answers: undefined }, "allow", 9_000)).toBeUndefined();
  expect(pressed({ ...data, shownAt: undefined }, "allow", 9_000)).toBeUndefined();
});

test("a notification is out of date once its thread waits no more, but not because the page's list is older", () => {
  const data = { threadId: "t", waiting: true, shownAt: 5_000 };
  // The page has seen the thread wait, and then end.
  expect(isStale(data, "idle", true, 5_001)).toBe(true);
  expect(isStale(data, "running", true, 5_001)).toBe(true);
  // The list may not have the question yet.
  expect(isStale(data, "running", false, 14_999)).toBe(false);
  expect(isStale(data, "running", false, 15_000)).toBe(true);
  // A next question, a thread that the list does not have, and a notification that asks for nothing.
  expect(isStale(data, "waiting", true, 60_000)).toBe(false);
  expect(isStale(data, undefined, true, 60_000)).toBe(false);
  expect(isStale({ ...data, waiting: false }, "idle", true, 60_000)).toBe(false);
  expect(isStale({}, "idle", true, 60_000)).toBe(false);
});
