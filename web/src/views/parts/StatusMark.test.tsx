// @vitest-environment jsdom
import { expect, test } from "vitest";

import type { Listed } from "../../state/threads.ts";
import { ThreadRow } from "../sidebar/ThreadRow.tsx";
import { drawn } from "../testing.ts";
import { StatusPill } from "./StatusMark.tsx";

test.each([
  ["permission", "waiting for approval"],
  ["input", "asks a question"],
  [undefined, "waiting for you"],
])("only a permission is called an approval: %s", (type, said) => {
  const question = type && { requestId: "q", type, title: "Who are you?", more: 0 };
  const thread = { id: "t", agentType: "fake", cwd: "/w", live: "waiting", status: "waiting", updatedAt: 0, unread: false, question };
  const view = drawn(<ThreadRow thread={thread as unknown as Listed} current={false} tabbed index={0} count={1} gap={0} />);
  expect(view.one(".live").getAttribute("aria-label")).toBe(said);
});

test("a chip says what it is told to", () => {
  const view = drawn(<StatusPill live="waiting" says="waits for a sign-in" />);
  expect(view.text()).toBe("waits for a sign-in");
  expect(view.one(".live").getAttribute("aria-label")).toBe("waits for a sign-in");
});
