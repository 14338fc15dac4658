import type { CallSubject, PermissionOption, WaitingQuestion } from "@acpd/client";
import { describe, expect, test } from "vitest";

import { askerOf, questionLine, rowAnswers, wishesOf } from "../../src/state/waiting-question.ts";

const options: PermissionOption[] = [
  { optionId: "a", name: "Yes", kind: "allow_once" },
  { optionId: "b", name: "Yes, always", kind: "allow_always" },
  { optionId: "c", name: "No", kind: "reject_once" },
  { optionId: "d", name: "Never", kind: "reject_always" },
];
const asks = (subject: CallSubject, more: Partial<WaitingQuestion> = {}): WaitingQuestion => ({
  requestId: "q",
  type: "permission",
  title: "Run the tests",
  more: 0,
  subjects: [subject],
  options,
  ...more,
});
const command = (line: string): CallSubject => ({ type: "commandLine", line, cwd: "/w" });
const read: CallSubject = { type: "file", access: "read", path: "/w/src/a.ts" };

test("a row shows what the daemon reads, not the agent's title", () => {
  expect(wishesOf(asks(command("cargo test")), "/w")).toEqual([{ verb: "run", what: "cargo test", code: true }]);
  expect(questionLine(asks(read), "/w")).toBe("Read src/a.ts");
  expect(questionLine(asks(read, { more: 2 }), "/w")).toBe("Read src/a.ts (and 2 more)");
  // Without the subjects, the title is all there is.
  expect(questionLine(asks(read, { subjects: undefined, title: "Edit\nall\u202E" }), "/w")).toBe("Edit⏎all⟨U+202E⟩");
});

test("a subagent that asks is named first, unless its title is all there is", () => {
  const asked = asks(command("cargo test"), { asker: 'Subagent "re\u202Eview"' });
  expect(askerOf(asked)).toBe('Subagent "re⟨U+202E⟩view"');
  expect(questionLine(asked, "/w")).toBe('Subagent "re⟨U+202E⟩view": run cargo test');
  expect(rowAnswers(asked, "/w"), "its name has two readings").toBeUndefined();
  expect(rowAnswers(asks(command("cargo test"), { asker: 'Subagent "review"' }), "/w")?.allow).toBeDefined();
  const titled = asks(read, { subjects: undefined, title: 'Subagent "review" wants to read', asker: 'Subagent "review"' });
  expect([askerOf(titled), questionLine(titled, "/w")]).toEqual([undefined, 'Subagent "review" wants to read']);
});

test("the once-answers are offered with the digits of the card, and an always never", () => {
  const { allow, reject } = rowAnswers(asks(command("cargo test")), "/w")!;
  expect([allow!.option.optionId, allow!.digit]).toEqual(["a", 1]);
  expect([reject!.option.optionId, reject!.digit]).toEqual(["c", 3]);
  expect(rowAnswers(asks(command("ls"), { options: [options[1]!, options[3]!] }), "/w")).toBeUndefined();
  // Between two answers of a kind, only the agent's words would decide.
  expect(rowAnswers(asks(command("ls"), { options: [...options, { ...options[0]!, optionId: "e" }] }), "/w")).toEqual({
    reject: { option: options[2], digit: 3 },
  });
});

test("what is not known to be harmless is not allowed from a row", () => {
  expect(rowAnswers(asks(command("rm -rf build")), "/w")).toEqual({ reject: { option: options[2], digit: 3 } });
  expect(rowAnswers(asks(command("rm x"), { options: [options[0]!] }), "/w")).toBeUndefined();
  expect(rowAnswers(asks(read, { subjects: [read, command("git push")] }), "/w")?.allow).toBeUndefined();
  const tool: CallSubject = { type: "mcp", server: "s", tool: "delete_all" };
  expect(rowAnswers(asks(tool), "/w")).toEqual({ reject: { option: options[2], digit: 3 } });
});

describe("a question that a row cannot show as a whole has to be opened", () => {
  const cases: Record<string, WaitingQuestion> = {
    "a form": asks(read, { type: "input" }),
    "further questions": asks(read, { more: 1 }),
    "no subjects": asks(read, { subjects: [] }),
    "subjects that are too long for the list": asks(read, { subjects: undefined }),
    "no options": asks(read, { options: undefined }),
    "a diff": asks({ type: "file", access: "edit", path: "/w/a", diff: "+a" }),
    "an edit without a diff": asks({ type: "file", access: "edit", path: "/w/a" }),
    "a link to elsewhere": asks({ ...read, realPath: "/etc/shadow" } as CallSubject),
    "an environment": asks({ ...command("make"), env: [{ name: "LD_PRELOAD", value: "/x.so" }] } as CallSubject),
    "another folder": asks({ ...command("make"), cwd: "/etc" } as CallSubject),
    "the arguments of a tool": asks({ type: "mcp", server: "s", tool: "t", arguments: "{}" }),
    "an unclear part": asks({ type: "unknown", what: "a pipe" }),
    "one unclear part of two": asks(read, { subjects: [read, { type: "unknown", what: "a pipe" }] }),
    "a second line": asks(command("echo a\nrm -rf /")),
    "a carriage return": asks(command("rm -rf /\recho a")),
    "a tab": asks(command("echo\ta")),
    "a bidi override": asks(command("echo \u202Etxt.exe")),
    "a zero-width space": asks(command("git pu\u200Bsh")),
    "right-to-left letters": asks(command("echo א; rm 1 / 2 ב")),
    "a space that is none": asks(command("rm -rf a\u00A0b")),
    "a blank Braille pattern": asks(command("rm a\u2800b")),
    "a file's name with a newline": asks({ ...read, path: "/w/a\nb" } as CallSubject),
    "a host with odd characters": asks({ type: "fetch", url: "https://a/", host: "a\u200Db" }),
  };
  test.each(Object.entries(cases))("%s", (_, question) => {
    expect(rowAnswers(question, "/w")).toBeUndefined();
  });
});

test("what is escaped stays one line, whatever it contains", () => {
  const [wish] = wishesOf(asks(command(`echo \u202Ea\n\r\u2028${"x".repeat(500)}`)), "/w");
  expect(wish!.what).toMatch(/^echo ⟨U\+202E⟩a⏎⟨U\+000D⟩⟨U\+2028⟩x{500}$/);
});
