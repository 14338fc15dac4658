import { describe, expect, test, vi } from "vitest";

import type { ThreadActions } from "../../../state/actions.ts";
import type { FoldedTurn, ThreadState } from "../../../state/thread.ts";
import { after, drawn } from "../../testing.ts";
import type { ThreadViewProps } from "../../thread-props.ts";
import Queue from "./Queue.tsx";

const queued = (id: string, ...input: object[]): FoldedTurn =>
  ({ key: id, id, status: "queued", items: [], input }) as unknown as FoldedTurn;
const text = (said: string) => ({ type: "text", text: said });

function queue(head: object = {}, more: object = {}, role = "owner") {
  const actions = {
    interrupt: vi.fn(async () => {}),
    arrangeQueue: vi.fn(async () => {}),
    editQueued: vi.fn(async () => {}),
    steerQueued: vi.fn(async () => {}),
  };
  const turns = [queued("turn_2", text("first"), { type: "image" }), queued("turn_3", text("second"))];
  const thread = {
    turns,
    head: { queuedTurnIds: ["turn_3", "turn_2"], turnId: "turn_1", ...head },
    ...more,
  } as unknown as ThreadState;
  const props = { thread, actions: actions as unknown as ThreadActions, role } as unknown as ThreadViewProps;
  return { actions, view: drawn(<Queue {...props} />) };
}

const STEERS = { _meta: { steering: { supported: true } } };

describe("the queue", () => {
  test("shows every waiting message, in the order in which they are sent", () => {
    const { view } = queue();
    expect(view.all(".th-queue-text").map((line) => line.textContent)).toEqual(["second", "first + 1 image"]);
    expect(view.one("h2").textContent).toBe("2 queued");
  });

  test("is reordered, edited and emptied", async () => {
    const { actions, view } = queue();
    const [up, down] = [view.all("[aria-label='Move up']"), view.all("[aria-label='Move down']")];
    expect([up[0], down[1]].map((button) => (button as HTMLButtonElement).disabled)).toEqual([true, true]);
    await after(() => up[1]!.click());
    expect(actions.arrangeQueue).toHaveBeenCalledWith(["turn_2", "turn_3"]);
    await after(() => view.all("li")[1]!.querySelectorAll("button")[0]!.click());
    const field = view.one<HTMLTextAreaElement>("textarea");
    expect(document.activeElement).toBe(field);
    await after(() => {
      field.value = "better";
      field.dispatchEvent(new Event("input", { bubbles: true }));
    });
    await after(() => view.button("Save").click());
    expect(actions.editQueued).toHaveBeenCalledWith("turn_2", "better", [{ type: "image" }]);
    await after(() => view.button("Remove").click());
    expect(actions.interrupt).toHaveBeenCalledWith("turn_3");
    await after(() => view.button("Clear").click());
    expect(actions.interrupt).toHaveBeenCalledWith("turn_2");
  });

  test("an abandoned edit changes nothing", async () => {
    const { actions, view } = queue();
    await after(() => view.button("Edit").click());
    const escape = new KeyboardEvent("keydown", { key: "Escape", bubbles: true, cancelable: true });
    await after(() => view.one("textarea").dispatchEvent(escape));
    expect(view.all("textarea")).toEqual([]);
    expect(actions.editQueued).not.toHaveBeenCalled();
  });

  test("continues after a pause", async () => {
    const { actions, view } = queue({ queuePaused: true, turnId: undefined });
    expect(view.one("h2").textContent).toBe("Queue paused · 2 waiting");
    await after(() => view.button("Send next").click());
    expect(actions.arrangeQueue).toHaveBeenCalledWith([], false);
  });

  test("sends a message into the running turn only if the agent accepts that", async () => {
    expect(queue().view.text()).not.toContain("Send now");
    const { actions, view } = queue({}, { initialize: STEERS });
    await after(() => view.button("Send now").click());
    expect(actions.steerQueued).toHaveBeenCalledWith("turn_3");
  });

  test("says why something was refused", async () => {
    const { actions, view } = queue();
    actions.interrupt.mockRejectedValueOnce(new Error("that turn is not queued"));
    await after(() => view.button("Remove").click());
    expect(view.one("[role=alert]").textContent).toBe("that turn is not queued");
  });

  test("can be read by observers, and not changed", () => {
    const { view } = queue({}, {}, "observer");
    expect(view.all(".th-queue-text")).toHaveLength(2);
    expect(view.all("button")).toEqual([]);
  });
});
