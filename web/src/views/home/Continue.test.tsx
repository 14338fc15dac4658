import { expect, test, vi } from "vitest";

import { narrow } from "../../app/layout.ts";
import { route } from "../../app/route.ts";
import { threads } from "../../app/threads.ts";
import { after, drawn } from "../testing.ts";
import Continue from "./Continue.tsx";

vi.mock("../../app/threads.ts", async () => {
  const { signal } = await import("@preact/signals");
  return { threads: signal([]), folderNames: signal(new Map()), open: signal(undefined) };
});

const listed = threads as unknown as { value: object[] };
const thread = (id: string, live = "idle") => ({ id, name: `Thread ${id}`, agentType: "fake", cwd: "/w/shop", live, updatedAt: 1 });

test("the last four threads are a press away, and without threads there is nothing", async () => {
  const view = drawn(<Continue />);
  expect(view.text()).toBe("");
  await after(() => void (listed.value = ["a", "b", "c", "d", "e"].map((id) => thread(id))));
  expect(view.all(".home-continue-name").map((name) => name.textContent?.trim())).toEqual(["Thread a", "Thread b", "Thread c", "Thread d"]);
  expect(view.one(".home-continue-place").textContent).toContain("shop");
  await after(() => view.all(".home-continue a")[1]!.click());
  expect(route.value).toEqual({ view: "thread", threadId: "b" });
});

test("in a narrow window, those that wait are above the form and not listed again", async () => {
  listed.value = [thread("a", "waiting"), thread("b")];
  narrow.value = true;
  const view = drawn(<Continue />);
  expect(view.all(".home-continue-name").map((name) => name.textContent?.trim())).toEqual(["Thread b"]);
  narrow.value = false;
});
