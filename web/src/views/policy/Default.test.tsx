import type { Client } from "@acpd/client";
import { afterEach, expect, test, vi } from "vitest";

import { toasts } from "../../app/toasts.ts";
import { client, link } from "../../connection/connection.ts";
import { after, drawn, type Drawn } from "../testing.ts";
import { Default } from "./Policy.tsx";

afterEach(() => {
  client.value = undefined;
  link.value = { name: "connecting" };
  toasts.value = [];
});

/** Connects to a daemon that answers so; returns the requests. */
function connected(answer: () => Promise<unknown> = async () => ({ file: "/c.toml", changed: true })) {
  const call = vi.fn((_method: string, _params: unknown) => answer());
  client.value = { call, state: { name: "open" }, on: () => () => {}, onState: () => () => {} } as unknown as Client;
  link.value = { name: "open" } as typeof link.value;
  return call;
}

function pick(view: Drawn, preset: string): Promise<void> {
  return after(() => {
    const select = view.one<HTMLSelectElement>("select");
    select.value = preset;
    select.dispatchEvent(new Event("change", { bubbles: true }));
  });
}

test("the owner sets the preset of all agents, or removes it", async () => {
  const call = connected();
  const onSet = vi.fn();
  const view = drawn(<Default written={null} onSet={onSet} />);
  expect(view.text()).not.toContain("Remove the policy");
  await pick(view, "permissive");
  expect(view.text()).toContain("Agents then do everything without asking.");
  await after(() => view.button("Use for all agents").click());
  expect(call).toHaveBeenCalledWith("config/policy/set", { preset: "permissive" });
  expect(onSet).toHaveBeenCalledOnce();

  const set = drawn(<Default written="readonly" onSet={onSet} />);
  await after(() => set.button("Use for all agents").click());
  const sent = call.mock.calls.filter(([method]) => method === "config/policy/set");
  expect([set.button("Use for all agents").getAttribute("aria-disabled"), sent.length]).toEqual(["true", 1]);
  await after(() => set.button("Remove the policy").click());
  expect(call).toHaveBeenLastCalledWith("config/policy/set", { preset: null });
});

test("a policy with rules is changed in the file", () => {
  connected();
  const view = drawn(<Default written={{ base: "standard", deny: ["Bash"] }} onSet={() => {}} />);
  expect(view.text()).toContain('policy = "standard"');
  expect(view.text()).not.toContain("Use for all agents");
});

test("a failure changes nothing, and the button can be used again", async () => {
  connected(() => Promise.reject(new Error("it is read-only")));
  const onSet = vi.fn();
  const view = drawn(<Default written={null} onSet={onSet} />);
  await after(() => view.button("Use for all agents").click());
  expect(onSet).not.toHaveBeenCalled();
  expect(view.button("Use for all agents").getAttribute("aria-disabled")).toBeNull();
});

test("what was set is said, and neither shuts the section nor takes the focus", async () => {
  connected();
  const view: Drawn = drawn(<Default written={null} onSet={() => view.draw(<Default written="permissive" onSet={() => view.draw(<Default written={null} onSet={() => {}} />)} />)} />);
  view.one<HTMLDetailsElement>("details").open = true;
  await pick(view, "permissive");
  const button = view.button("Use for all agents");
  button.focus();
  await after(() => button.click());
  expect([view.one<HTMLDetailsElement>("details").open, document.activeElement === button]).toEqual([true, true]);
  view.button("Remove the policy").focus();
  await after(() => view.button("Remove the policy").click());
  expect([view.one<HTMLDetailsElement>("details").open, document.activeElement?.id]).toEqual([true, "default-preset"]);
  expect(toasts.value.map(({ text }) => text)).toEqual(["The global policy is now permissive", "Removed the global policy"]);
});
