// @vitest-environment jsdom
import type { InputWanted } from "@acpd/client";
import { expect, test, vi } from "vitest";

import { Elicitation } from "./Elicitation.tsx";
import { after, drawn, type } from "../../testing.ts";

const stamp = { seq: 1, threadId: "t", ts: 0, requestId: "q" };
const form: InputWanted = {
  ...stamp,
  title: "Who are you?",
  mode: "form",
  schema: {
    type: "object",
    required: ["name"],
    properties: {
      name: { type: "string", title: "Name", minLength: 2 },
      colour: { type: "string", enum: ["red", "green"] },
      sure: { type: "boolean", default: true },
      tags: { type: "array", items: { type: "string", enum: ["a", "b"] } },
      secret: { type: "string", format: "password" },
    },
  },
};

function shown(question: InputWanted, rest: object = {}) {
  const did = { onAnswer: vi.fn(), onAccept: vi.fn(), onDecline: vi.fn(), onCancel: vi.fn(), open: vi.fn() };
  return { ...drawn(<Elicitation question={question} {...did} {...rest} />), ...did };
}

test("a form that is filled in is sent as the schema has it", async () => {
  const view = shown(form);
  await type(view.one<HTMLInputElement>('[data-field="name"] input'), "Ada");
  await type(view.one<HTMLSelectElement>("select"), "green");
  await after(() => view.all('[data-field="tags"] input')[1]!.click());
  await after(() => view.button("Send answer").click());
  expect(view.onAnswer.mock.calls).toEqual([[{ name: "Ada", colour: "green", sure: true, tags: ["b"] }]]);
});

test("a form with something wrong is not sent: it says what, and goes there", async () => {
  const view = shown(form);
  await type(view.one<HTMLInputElement>('[data-field="name"] input'), "A");
  await after(() => view.button("Send answer").click());
  expect(view.onAnswer).not.toHaveBeenCalled();
  const field = view.one<HTMLInputElement>('[data-field="name"] input');
  expect(field.getAttribute("aria-invalid")).toBe("true");
  const described = field.getAttribute("aria-describedby")!.split(" ").map((id) => document.getElementById(id)?.textContent);
  expect(described).toContain("At least 2 characters");
  expect(document.activeElement).toBe(field);
});

test("every field has a label", () => {
  const view = shown(form);
  for (const field of view.all("input, select, textarea") as HTMLInputElement[]) expect(field.labels?.length, field.outerHTML).toBe(1);
});

test("a secret is not shown", () => {
  expect(shown(form).one<HTMLInputElement>('[data-field="secret"] input').type).toBe("password");
});

test("declining and cancelling are two things", async () => {
  const view = shown(form);
  await after(() => view.button("Decline").click());
  await after(() => view.button("Dismiss").click());
  expect([view.onDecline.mock.calls.length, view.onCancel.mock.calls.length, view.onAnswer.mock.calls.length]).toEqual([1, 1, 0]);
});

test("while it is sent, nothing can be changed", () => {
  const view = shown(form, { sending: true });
  expect(([...view.place.querySelectorAll("input, select, button")] as HTMLInputElement[]).every((one) => one.disabled)).toBe(true);
});

const address = (url: string): InputWanted => ({ ...stamp, title: "Sign in", mode: "url", url });

test("an address is named by its host and opened only when the person says so", async () => {
  const view = shown(address("https://example.com/login?x=1"));
  expect(view.open).not.toHaveBeenCalled();
  expect(view.one(".th-goal-host").textContent).toBe("example.com");
  expect(view.text()).toContain("https://example.com/login?x=1");
  await after(() => view.button("Open example.com").click());
  expect(view.open.mock.calls).toEqual([["https://example.com/login?x=1"]]);
  expect(view.onAccept).not.toHaveBeenCalled();
  await after(() => view.button("I’ve finished").click());
  expect(view.onAccept).toHaveBeenCalledOnce();
});

test("an address that looks like another one is seen through", () => {
  const view = shown(address("http://github.com@evil.example/"));
  expect(view.one(".th-goal-host").textContent).toBe("evil.example");
  expect(view.text()).toContain("“github.com” in this address is a user name");
  expect(view.text()).toContain("not encrypted");
});

test.each(["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "/api", ""])("%j cannot be opened", (url) => {
  const view = shown(address(url));
  expect(view.all("button").map((button) => button.textContent)).toEqual(["Decline", "Dismiss"]);
});

test("a half-filled form is a draft: it survives another view, and other tabs follow it", async () => {
  const question = { ...form, requestId: "draft" };
  const view = shown(question);
  await type(view.one<HTMLInputElement>('[data-field="name"] input'), "Ada");
  await type(view.one<HTMLSelectElement>("select"), "green");
  await after(() => view.all('[data-field="tags"] input')[0]!.click());
  await after(() => view.one<HTMLInputElement>('[data-field="sure"] input').click());
  await type(view.one<HTMLInputElement>('[data-field="secret"] input'), "hunter2");
  view.draw(null);
  const again = shown(question);
  expect(again.one<HTMLInputElement>('[data-field="name"] input').value).toBe("Ada");
  await after(() => again.button("Send answer").click());
  expect(again.onAnswer.mock.calls).toEqual([[{ name: "Ada", colour: "green", sure: false, tags: ["a"] }]]);
  expect(JSON.stringify({ ...localStorage })).not.toContain("hunter2");

  const newValue = JSON.stringify({ "form:draft": JSON.stringify({ name: "Bea", secret: "sent by another tab", tags: "no list" }) });
  await after(() => dispatchEvent(new StorageEvent("storage", { key: "acpd.drafts", newValue })));
  expect(again.one<HTMLInputElement>('[data-field="name"] input').value).toBe("Bea");
  expect(again.one<HTMLInputElement>('[data-field="secret"] input').value).toBe("");
});
