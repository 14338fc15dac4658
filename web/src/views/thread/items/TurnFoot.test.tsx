// @vitest-environment jsdom
import type { Role } from "@acpd/client";
import { beforeAll, beforeEach, describe, expect, test, vi } from "vitest";

import type { FoldedTurn } from "../../../state/thread.ts";
import { draftOf, editDraft, keepDraft } from "../../../app/drafts.ts";
import { beginEdit, editedTurn } from "../../../app/editing.ts";
import { toasts } from "../../../app/toasts.ts";
import { aloneContext, CurrentThread, type ThreadWaiting, Waiting } from "../content/context.ts";
import { UnifiedDiff } from "../content/diffs.ts";
import { ComposerBox } from "../composer/ComposerBox.tsx";
import { dropEdit } from "../composer/edit-message.ts";
import { attachAgain } from "../composer/use-attachments.ts";
import { TurnFoot } from "./TurnFoot.tsx";
import { after, drawn } from "../../testing.ts";

// Its view is loaded lazily.
beforeAll(async () => {
  UnifiedDiff.preload();
  await vi.dynamicImportSettled();
});

const DIFF = "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+b\n+c\n--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+d\n";
const changes = { files: 2, added: 3, removed: 1, incomplete: false };
const turn: FoldedTurn = { key: "k", id: "turn-1", status: "completed", stopReason: "end_turn", items: [], changes };

function shown(role: "observer" | "operator" = "operator", rest: object = {}) {
  const actions = {
    fork: vi.fn(async () => {}),
    rollback: vi.fn(async () => {}),
    send: vi.fn(async () => {}),
    readDiff: vi.fn(async (_: string) => DIFF),
    ...rest,
  };
  return { ...drawn(<TurnFoot turn={turn} threadId="t" actions={actions} role={role} />), actions };
}

const unfold = (view: ReturnType<typeof shown>) =>
  after(() => {
    view.one<HTMLDetailsElement>("details").open = true;
    view.one("details").dispatchEvent(new Event("toggle"));
  });

test("all that a turn changed is loaded when it is opened", async () => {
  const view = shown();
  expect(view.one("summary").textContent).toBe("2 files changed+3−1");
  expect(view.actions.readDiff).not.toHaveBeenCalled();
  await unfold(view);
  expect(view.actions.readDiff.mock.calls).toEqual([["turn-1"]]);
  expect(view.all(".th-diff .th-path").map((path) => path.textContent)).toEqual(["x", "y"]);
});

test("changes that cannot be loaded are tried again", async () => {
  const answers = [Promise.reject(new Error("not connected")), Promise.resolve(DIFF)];
  const view = shown("operator", { readDiff: () => answers.shift() });
  await unfold(view);
  expect(view.one("[role=alert]").textContent).toContain("not connected");
  await after(() => view.button("Try again").click());
  expect(view.all(".th-diff .th-path")).toHaveLength(2);
});

test("a fork begins at once", async () => {
  const view = shown();
  await after(() => view.button("Fork from here").click());
  expect(view.actions.fork.mock.calls).toEqual([["turn-1"]]);
});

test("going back asks first", async () => {
  const view = shown();
  await after(() => view.button("Rewind to here").click());
  await after(() => view.button("Cancel").click());
  expect(view.actions.rollback).not.toHaveBeenCalled();
  await after(() => view.button("Rewind to here").click());
  await after(() => view.button("Remove").click());
  expect(view.actions.rollback.mock.calls).toEqual([["turn-1"]]);
});

test("after a rewind the user writes on, unless the focus is elsewhere", async () => {
  const view = shown();
  const pane = document.createElement("div");
  pane.className = "pane";
  pane.dataset.thread = "t";
  pane.innerHTML = '<textarea class="th-composer-area"></textarea><input>';
  document.body.append(pane);
  const rewind = async () => {
    await after(() => view.button("Rewind to here").click());
    await after(() => view.button("Remove").click());
  };
  pane.querySelector("input")!.focus();
  await rewind();
  expect(document.activeElement?.tagName).toBe("INPUT");
  pane.querySelector("input")!.blur();
  await rewind();
  expect(document.activeElement?.className).toBe("th-composer-area");
  pane.remove();
});

test("a rewind gives back the prompt that it removes; one that is refused gives nothing", async () => {
  const removed = { key: "turn-2", id: "turn-2", status: "completed", items: [{ type: "userMessage", itemId: "i", content: [{ type: "text", text: "go on" }] }] };
  const refusals = [new Error("a turn is running: interrupt it first")];
  const rollback = vi.fn(async () => {
    const refused = refusals.pop();
    if (refused !== undefined) throw refused;
  });
  const actions = { fork: vi.fn(async () => {}), rollback, send: vi.fn(async () => {}), readDiff: vi.fn(async () => "") };
  const context = { ...aloneContext, removedBy: (lastKept: string) => (lastKept === "turn-1" ? (removed as unknown as FoldedTurn) : undefined) };
  const view = drawn(
    <CurrentThread.Provider value={context}>
      <TurnFoot turn={turn} threadId="given" actions={actions} role="operator" />
    </CurrentThread.Provider>,
  );
  for (const draft of ["", "go on"]) {
    await after(() => view.button("Rewind to here").click());
    await after(() => view.button("Remove").click());
    expect(draftOf("given")).toBe(draft);
  }
  keepDraft("given", "");
});

test("what is refused says why", async () => {
  const refuse = async () => {
    throw new Error("A turn runs.");
  };
  const view = shown("operator", { fork: refuse });
  await after(() => view.button("Fork from here").click());
  expect(view.one("[role=alert]").textContent).toBe("A turn runs.");
});

test("who only looks on can do neither", () => {
  expect(shown("observer").all(".th-go-on")).toEqual([]);
});

describe("a turn that did not end well", () => {
  const said = { type: "userMessage", itemId: "i", content: [{ type: "text", text: "do it" }, { type: "image" }] };

  beforeEach(() => {
    dropEdit("t");
    keepDraft("t", "");
    attachAgain("t", []);
    toasts.value = [];
  });

  function ended(over: object, { last = "k", role = "operator" as Role, threadId = "t", ...context } = {} as { last?: string; role?: Role; threadId?: string } & Partial<ThreadWaiting>) {
    const actions = {
      fork: vi.fn(async () => {}),
      rollback: vi.fn(async () => {}),
      send: vi.fn(async () => {}),
      readDiff: vi.fn(async () => ""),
    };
    const broken = { ...turn, items: [said], startedAt: 1, ...over } as unknown as FoldedTurn;
    const view = drawn(
      <Waiting.Provider value={{ waiting: false, items: new Set(), lastTurn: last, ...context }}>
        <TurnFoot turn={broken} threadId={threadId} actions={actions} role={role} />
      </Waiting.Provider>,
    );
    const buttons = view.all(".th-retry button").map((button) => button.textContent);
    return { ...view, actions, buttons };
  }

  test("is tried again with everything that was sent", async () => {
    const view = ended({ status: "failed", error: "rate limit" });
    expect(view.buttons).toEqual(["Try again", "Edit as a new message"]);
    await after(() => view.button("Try again").click());
    expect(view.actions.send).toHaveBeenCalledWith("do it", [{ type: "image" }], "queue");
  });

  test("offers nothing to the agent if users ran commands in it", () => {
    const command = { type: "terminalCommand", itemId: "c", terminalId: "user_1", command: "sleep 9", requestedBy: { kind: "client" } };
    const cut = { status: "interrupted", error: "acpd was restarted while this turn was running" };
    expect(ended({ ...cut, items: [command] }).buttons).toEqual([]);
    expect(ended({ ...cut, items: [said, command] }).buttons).toContain("Continue");
  });

  test("is edited first", async () => {
    const words = { ...said, content: [{ type: "text", text: "do it" }] };
    const view = ended({ status: "failed", error: "rate limit", items: [words] });
    expect(view.buttons).toEqual(["Try again", "Edit as a new message"]);
    await after(() => view.button("Edit as a new message").click());
    expect(draftOf("t")).toBe("do it");
    expect(view.actions.send).not.toHaveBeenCalled();
    await after(() => view.button("Edit as a new message").click());
    expect([draftOf("t"), toasts.value]).toEqual(["do it", []]);
  });

  test("is edited beside a draft, which stays", async () => {
    keepDraft("t", "half a thought");
    const words = { ...said, content: [{ type: "text", text: "do it" }] };
    const view = ended({ status: "failed", error: "rate limit", items: [words] });
    await after(() => view.button("Edit as a new message").click());
    expect([draftOf("t"), toasts.value.map(({ text }) => text)]).toEqual(["half a thought", ["The message is not in your draft yet"]]);
    await after(() => toasts.value[0]!.action!.run());
    expect(draftOf("t")).toBe("half a thought\n\ndo it");
  });

  test("is edited in place of an earlier message, whose text can be brought back", async () => {
    beginEdit("t", "turn-0", "earlier, but better");
    const words = { ...said, content: [{ type: "text", text: "do it" }] };
    const view = ended({ status: "failed", error: "rate limit", items: [words] });
    await after(() => view.button("Edit as a new message").click());
    expect([editedTurn("t"), draftOf("t")]).toEqual([undefined, "do it"]);
    await after(() => toasts.value[0]!.action!.run());
    expect([editedTurn("t"), draftOf(editDraft("t"))]).toEqual(["turn-0", "earlier, but better"]);
  });

  test("is edited with its attachments; one whose content is gone is named", async () => {
    const picture = { type: "image", mimeType: "image/png", data: "AAAA" };
    const file = { type: "resource", resource: { uri: "attachment:///notes%201.txt", text: "n" } };
    const content = [{ type: "text", text: "do it" }, picture, file, { type: "image", mimeType: "image/png" }];
    const view = ended({ status: "failed", error: "rate limit", items: [{ ...said, content }] });
    await after(() => view.button("Edit as a new message").click());
    const onSend = vi.fn(async () => {});
    const box = drawn(
      <ComposerBox name="t" draft={draftOf("t")} onDraft={() => {}} onSend={onSend} onStop={() => {}} running={false} sendKey="enter" commands={[]} capabilities={undefined} />,
    );
    expect(box.all(".th-attached .truncate").map(({ textContent }) => textContent)).toEqual(["image", "notes 1.txt"]);
    expect(box.one("[role=status]").textContent).toContain("Couldn’t attach image again: its content is gone.");
    await after(() => (box.all("button").find(({ textContent }) => textContent?.includes("Send")) as HTMLButtonElement).click());
    expect(onSend).toHaveBeenCalledWith("do it", [picture, file], "queue");
  });

  test("is tried again in a fork, with a file of the thread before it", async () => {
    const stored = { type: "resource_link", uri: `file:///d/attachments/0195d1c2-7e7a-7c3e-8f00-0123456789ab/${"0f".repeat(16)}/a.pdf`, name: "a.pdf" };
    const view = ended({ status: "failed", error: "rate limit", items: [{ ...said, content: [{ type: "text", text: "do it" }, stored] }] });
    await after(() => view.button("Try again").click());
    expect(view.actions.send).toHaveBeenCalledWith("do it", [stored], "queue");
  });

  test.each([
    { status: "limited", stopReason: "max_tokens" },
    { status: "completed", stopReason: "max_turn_requests" },
  ])("is continued, or edited, if the agent met a limit: $stopReason", async (over) => {
    const view = ended(over);
    expect(view.buttons).toEqual(["Continue", "Edit as a new message"]);
    await after(() => view.button("Continue").click());
    expect(view.actions.send).toHaveBeenCalledWith("Continue", [], "queue");
  });

  test("is edited if the agent refused", () => {
    expect(ended({ status: "refused", stopReason: "refusal" }).buttons).toEqual(["Edit as a new message"]);
  });

  test("shows what the agent wrote before it exited, folded inside the error", async () => {
    const notice = { seq: 1, threadId: "t", level: "error", code: "agentLost", message: "exited with code 3" } as const;
    const exits = [
      { ...notice, ts: 5, detail: "of another turn" },
      { ...notice, ts: 20, detail: "panic: out of memory\u202E" },
      { ...notice, ts: 90, detail: "later" },
    ];
    const over = { status: "failed", error: "exited with code 3", startedAt: 10, completedAt: 20 };
    const view = ended(over, { exits });
    const fold = view.one<HTMLDetailsElement>(".th-turn-error details");
    expect(fold.textContent).toBe("What the agent wrote before it ended");
    await after(() => {
      fold.open = true;
      fold.dispatchEvent(new Event("toggle"));
    });
    expect(view.one(".th-last-words").textContent).toBe("panic: out of memory⟨U+202E⟩");
    expect(ended({ ...over, completedAt: 19 }, { exits }).all(".th-turn-error details")).toEqual([]);
    expect(ended({ ...over, status: "interrupted" }, { exits }).all(".th-turn-error details")).toEqual([]);
  });

  test("leaves its words and its button to the card that signs in, while that is there", () => {
    const over = { status: "failed", error: "Sign in to Goose to continue", startedAt: 10, completedAt: 20 };
    const view = ended(over, { signIn: over.error });
    expect([view.text().includes("Sign in to Goose"), view.buttons]).toEqual([false, ["Edit as a new message"]]);
    expect(view.one(".th-turn-stop").textContent).toBe("Waiting for sign-in");
    expect(ended(over).text()).toContain("Sign in to Goose to continue");
  });

  test("is continued after a restart", async () => {
    const view = ended({ status: "interrupted", error: "acpd was restarted while this turn was running" });
    expect(view.buttons[0]).toBe("Continue");
    await after(() => view.button("Continue").click());
    expect(view.actions.send).toHaveBeenCalledWith("Continue", [], "queue");
  });

  test("keeps a message that was never sent", async () => {
    const input = [{ type: "text", text: "later" }];
    const error = "acpd was restarted before this was sent to the agent";
    const view = ended({ status: "interrupted", error, items: [], startedAt: undefined, input });
    expect(view.one("[aria-label='Message that was not sent']").textContent).toBe("later");
    expect(view.buttons).toEqual(["Send", "Edit as a new message"]);
    await after(() => view.button("Send").click());
    expect(view.actions.send).toHaveBeenCalledWith("later", [], "queue");
  });

  test("offers nothing if it was stopped on purpose, is not the last one, or belongs to others", () => {
    expect(ended({ status: "interrupted" }).buttons).toEqual([]);
    expect(ended({ status: "failed", error: "x" }, { last: "other" }).buttons).toEqual([]);
    expect(ended({ status: "failed", error: "x" }, { role: "observer" }).buttons).toEqual([]);
  });
});
