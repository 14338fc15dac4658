/** The audit trail, from events. */

import type { ThreadEvent } from "@acpd/client";
import { expect, test } from "vitest";

import { type AuditEntry, auditor } from "../../src/state/audit.ts";

let seq = 0;
function event(method: string, params: object): ThreadEvent {
  return { method, params: { seq: ++seq, ts: seq * 10, threadId: "t", ...params } } as unknown as ThreadEvent;
}

function trail(...events: ThreadEvent[]): Omit<AuditEntry, "seq" | "ts">[] {
  const look = auditor();
  return events.flatMap((one) => {
    const entry = look(one);
    if (!entry) {
      return [];
    }
    const { seq: _, ts: __, ...rest } = entry;
    return [rest];
  });
}

test("a person's answer has what was asked about, the person and the program", () => {
  const subjects = [{ type: "commandLine", line: "npm test", cwd: "/w" }, { type: "file", access: "edit", path: "/w/x" }];
  const asked = event("item/commandExecution/requestApproval", { requestId: "r", title: "Read README.md", options: [], subjects });
  const by = { kind: "client", client: "acpd-web", principal: "ann" };
  const resolved = event("serverRequest/resolved", { requestId: "r", outcome: "declined", by });
  expect(trail(asked, resolved)).toEqual([{ effect: "deny", subject: "run npm test; change /w/x", who: "ann", why: undefined }]);
});

test("the policy's word has its rule", () => {
  const by = { kind: "policy", rule: "Edit(src/**)", scope: "agent" };
  const permitted = event("policy/permitted", { subject: "/w/src/a.rs", method: "fs/write_text_file", by });
  const refused = event("thread/notice", { level: "warning", code: "refused", message: "not .env", by });
  expect(trail(permitted, refused)).toEqual([
    { effect: "allow", subject: "/w/src/a.rs", who: "rule Edit(src/**)", why: "the agent’s policy" },
    { effect: "deny", subject: "not .env", who: "rule Edit(src/**)", why: "the agent’s policy" },
  ]);
});

test("what is no decision is no entry", () => {
  expect(
    trail(
      event("item/started", { itemId: "item_1", type: "agentMessage" }),
      event("thread/notice", { level: "info", code: "agentLost", message: "gone" }),
      event("thread/updated", { name: "A name" }),
    ),
  ).toEqual([]);
});

test("policies and answers that hold are noted", () => {
  const entries = trail(
    event("policy/remembered", { answer: { rule: "Bash(ls)", scope: "thread" } }),
    event("thread/updated", { policy: "readonly" }),
    event("thread/updated", { policy: null }),
    event("thread/updated", { directories: { cwd: "/new", additionalDirectories: ["/docs"] } }),
  );
  expect(entries.map(({ subject }) => subject)).toEqual([
    "Remembered for this thread: Bash(ls)",
    "The thread’s policy: readonly",
    "The thread’s policy: none of its own",
    "The thread works in /new, /docs",
  ]);
});

test("an answer that is remembered says for how long, in the words of the question", () => {
  const by = { kind: "client", client: "acpd-web", principal: "ann" };
  const answered = { requestId: "r", outcome: "accepted", optionKind: "allow_always", by };
  const remembered = (scope: string) => event("policy/remembered", { answer: { rule: "Bash(ls)", scope } });
  const reasons = (...events: ThreadEvent[]) => trail(...events).flatMap(({ why }) => why ?? []);
  expect(reasons(remembered("session"), event("serverRequest/resolved", answered))).toEqual(["for this session"]);
  expect(reasons(remembered("thread"), event("serverRequest/resolved", { ...answered, optionKind: "allow_once" }))).toEqual(["for this thread"]);
  // For the agent it is stored after the question is settled.
  expect(reasons(event("serverRequest/resolved", answered), remembered("agent"))).toEqual(["remembered"]);
  expect(reasons(event("serverRequest/resolved", { ...answered, optionKind: "allow_once" }))).toEqual([]);
  // What acpd cannot remember goes to the agent as it is.
  const ofAgent = { ...answered, itemId: "i" };
  expect(reasons(event("serverRequest/resolved", ofAgent))).toEqual([]);
  expect(reasons(event("serverRequest/resolved", { ...ofAgent, sentOptionId: "once" }), remembered("agent"))).toEqual(["remembered"]);
});
