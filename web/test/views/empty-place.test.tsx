// @vitest-environment jsdom
import { beforeEach, expect, test } from "vitest";

import { defaultFolder, folders, nextFolder } from "../../src/app/agents.ts";
import { draftOf, keepDraft, NEW_THREAD } from "../../src/app/drafts.ts";
import { moving } from "../../src/app/renaming.ts";
import { go, route } from "../../src/app/route.ts";
import { useFolder } from "../../src/views/home/use-folder.ts";
import { after, drawn } from "../../src/views/testing.ts";
import EmptyPlace from "../../src/views/thread/composer/EmptyPlace.tsx";
import { whileSending } from "../../src/views/thread/composer/sending.ts";
import { attachmentsOf, putAttachments } from "../../src/views/thread/composer/use-attachments.ts";

beforeEach(() => {
  folders.value = [];
  defaultFolder.value = "";
  nextFolder.value = undefined;
  putAttachments(NEW_THREAD, []);
  putAttachments("t", []);
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

/** A promise that the test resolves. */
function later(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((over) => (resolve = over));
  return { promise, resolve };
}

const file = { name: "a.rs", block: { type: "resource" }, size: 1 };
const stored = { name: "a.pdf", block: { type: "resource_link", uri: "file:///data/attachments/t/0/a.pdf", name: "a.pdf" }, size: 1 };

test("what is attached goes to the form, unless something waits there", async () => {
  putAttachments("t", [file]);
  await after(() => place().button("Agent: fake").click());
  expect([attachmentsOf(NEW_THREAD), attachmentsOf("t")]).toEqual([[file], []]);
  go({ view: "thread", threadId: "t" });
  putAttachments("t", [stored]);
  keepDraft("t", "fix it");
  await after(() => place().button("Agent: fake").click());
  expect([attachmentsOf(NEW_THREAD), attachmentsOf("t"), draftOf("t")]).toEqual([[file], [stored], "fix it"]);
});

test("a message on its way is not started a second time", async () => {
  const answer = later();
  const view = place();
  const sent = whileSending("t", () => answer.promise);
  await after(() => {});
  expect(view.all("button:not(:disabled)")).toEqual([]);
  await after(() => answer.resolve());
  await sent;
  expect(view.all("button:not(:disabled)")).toHaveLength(2);
});

test("nothing is put over a prompt of the form that is on its way", async () => {
  const answer = later();
  const sent = whileSending(NEW_THREAD, () => answer.promise);
  keepDraft("t", "fix it");
  await after(() => place().button("Agent: fake").click());
  expect([draftOf(NEW_THREAD), draftOf("t")]).toEqual(["", "fix it"]);
  answer.resolve();
  await sent;
});

test("the form begins with the thread's folder once, also where another one is set", async () => {
  defaultFolder.value = "/set";
  await after(() => place().button("Agent: fake").click());
  function Folder() {
    return <p>{useFolder().typed}</p>;
  }
  const form = drawn(<Folder />);
  await after(() => {});
  form.draw(<Folder />);
  expect(form.text()).toBe("/home/ann/work");
  expect(drawn(<Folder />).text()).toBe("/set");
});
