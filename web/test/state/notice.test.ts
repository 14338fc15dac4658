import type { TurnStatus, WaitingQuestion } from "@acpd/client";
import { expect, test } from "vitest";

import { type News, noticeOf } from "../../src/state/notice.ts";

const thread = { name: "Heron", agent: "Claude", cwd: "/w" };
const question: WaitingQuestion = {
  requestId: "q",
  type: "permission",
  title: "Run the tests",
  more: 0,
  subjects: [{ type: "commandLine", line: "cargo test", cwd: "/w" }],
};

test("a notification says what waits, is done or has failed, and why", () => {
  const said = (news: Partial<News>) => Object.values(noticeOf({ ...thread, type: "done", ...news }));
  expect(said({ type: "waiting", question })).toEqual(["Heron is waiting for approval", "Run cargo test"]);
  expect(said({ type: "waiting", question: { ...question, type: "input", title: "Who are you?", subjects: null } })).toEqual([
    "Heron asks a question", "Who are you?",
  ]);
  expect(said({ type: "waiting" })).toEqual(["Heron is waiting for you", "Claude needs an answer."]);
  expect(said({})).toEqual(["Heron is done", "Claude has finished."]);
  expect(said({ name: " \n", status: "completed" })).toEqual(["Untitled thread is done", "Claude has finished."]);
  expect(said({ type: "failed", status: "failed", error: "no credits\nat line 3" })).toEqual(["Heron has failed", "no credits"]);
  const failed = (status?: TurnStatus) => said({ type: "failed", status })[1];
  expect(failed("failed")).toBe("Last turn failed");
  expect(failed("refused")).toBe("The agent refused");
  expect(failed("limited")).toBe("Stopped by a limit");
  expect(failed("interrupted")).toBe("Interrupted by a restart");
  expect(failed()).toBe("Last turn failed");
  expect(failed("of a newer daemon" as TurnStatus)).toBe("Last turn failed");
});

test("no text reorders another one, starts a new line, or is endless", () => {
  const { title, body } = noticeOf({ ...thread, name: "a\u202Eb\rc", type: "failed", error: "\u2067no\u0085\u2028yes" });
  expect(title).toBe("a⟨U+202E⟩b has failed");
  expect(body).toBe("⟨U+2067⟩no");
  const long = noticeOf({ ...thread, name: "n".repeat(10_000), type: "failed", error: "\u{1F9A9}".repeat(10_000) });
  expect([...long.title]).toHaveLength(200 + " has failed".length);
  expect([...long.body]).toHaveLength(200);
  expect(long.body.endsWith("…")).toBe(true);
  // The parts of a question are names, in which nothing may be invisible.
  const hidden = { ...question, subjects: [{ type: "commandLine" as const, line: "git pu\u200Bsh\n\u202Ex", cwd: "/w" }] };
  expect(noticeOf({ ...thread, type: "waiting", question: hidden }).body).toBe("Run git pu⟨U+200B⟩sh⏎⟨U+202E⟩x");
  expect(noticeOf({ ...thread, name: "pay\u200Bpal", agent: "\u200BClaude", type: "done" })).toEqual({
    title: "pay⟨U+200B⟩pal is done",
    body: "⟨U+200B⟩Claude has finished.",
  });
  // Emoji of several characters stay whole.
  expect(noticeOf({ ...thread, name: "👩‍💻 work", type: "done" }).title).toBe("👩‍💻 work is done");
});
