// @vitest-environment jsdom
import { beforeEach, expect, test } from "vitest";

import { folders } from "../../src/app/agents.ts";
import { draftOf, keepDraft, NEW_THREAD } from "../../src/app/drafts.ts";
import { moving } from "../../src/app/renaming.ts";
import { go, route } from "../../src/app/route.ts";
import { after, drawn } from "../../src/views/testing.ts";
import EmptyPlace from "../../src/views/thread/composer/EmptyPlace.tsx";

beforeEach(() => {
  folders.value = [];
  moving.value = undefined;
  keepDraft(NEW_THREAD, "");
  keepDraft("t", "");
  go({ view: "thread", threadId: "t" });
});

const place = (disabled = false) => drawn(<EmptyPlace threadId="t" agentType="fake" cwd="/home/ann/work" disabled={disabled} />);

test("a thread without turns shows its agent and folder, and the folder can be changed", async () => {
  const view = place();
  expect(view.all("button").map(({ textContent }) => textContent)).toEqual(["fake", "work"]);
  await after(() => view.button("Folder: /home/ann/work").click());
  expect(moving.value).toEqual({ id: "t", cwd: "/home/ann/work" });
});

test("another agent starts in the same folder, with what was written", async () => {
  keepDraft("t", "fix it");
  const view = place();
  await after(() => view.button("Agent: fake").click());
  expect([route.value.view, folders.value, draftOf(NEW_THREAD), draftOf("t")]).toEqual(["home", ["/home/ann/work"], "fix it", ""]);
});

test("a prompt that waits in the form is kept", async () => {
  keepDraft(NEW_THREAD, "there already");
  keepDraft("t", "fix it");
  await after(() => place().button("Agent: fake").click());
  expect([draftOf(NEW_THREAD), draftOf("t")]).toEqual(["there already", "fix it"]);
});

test("without a connection neither can be changed", () => {
  expect(place(true).all("button:not(:disabled)")).toEqual([]);
});
