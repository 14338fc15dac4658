// @vitest-environment jsdom
import { useState } from "preact/hooks";
import { expect, test, vi } from "vitest";

import { ComposerBox, type ComposerBoxProps } from "../index.ts";
import { leave } from "../../../connection/connection.ts";
import { after, drawn, press, type } from "../../testing.ts";

const ALL = { image: true, audio: true, embeddedContext: true };
const COMMANDS = [
  { name: "review", description: "Review changes", hint: "which files" },
  { name: "resume", description: "Go on" },
  { name: "compact", description: "Forget" },
];

function shown(rest: Partial<ComposerBoxProps> = {}, first = "") {
  const did = { onSend: vi.fn(async () => {}), onStop: vi.fn(), drafts: vi.fn() };
  function Box() {
    const [draft, setDraft] = useState(first);
    const change = (text: string) => {
      did.drafts(text);
      setDraft(text);
    };
    return (
      <ComposerBox
        draft={draft} onDraft={change} onSend={did.onSend} onStop={did.onStop} running={false} sendKey="enter"
        commands={COMMANDS} capabilities={ALL} {...rest}
      />
    );
  }
  const view = drawn(<Box />);
  return { ...view, ...did, area: view.one<HTMLTextAreaElement>("textarea") };
}

async function give(area: HTMLElement, kind: "paste" | "drop", files: File[], types = ["Files"]) {
  const event = new Event(kind, { bubbles: true, cancelable: true });
  Object.assign(event, { [kind === "paste" ? "clipboardData" : "dataTransfer"]: { files, types } });
  area.dispatchEvent(event);
  // Files are read asynchronously.
  await vi.waitFor(() => {
    const seen = document.querySelectorAll(".th-attached-file, .th-composer-said .th-warning").length;
    if (seen < files.length) throw new Error("not yet");
  });
  return event;
}

test("Enter sends, and empties the draft once it is sent", async () => {
  const view = shown();
  await type(view.area, "hello");
  await press(view.area, "Enter");
  expect(view.onSend.mock.calls).toEqual([["hello", [], "queue"]]);
  expect(view.area.value).toBe("");
  expect(view.drafts.mock.calls).toEqual([["hello"], [""]]);
});

test("what is added to the draft while it is sent stays", async () => {
  let sent = () => {};
  const view = shown({ onSend: () => new Promise<void>((done) => (sent = done)) });
  await type(view.area, "hello");
  await press(view.area, "Enter");
  await type(view.area, "hello\n\nand from another tab");
  await give(view.area, "drop", [new File(["x"], "x.txt", { type: "text/plain" })]);
  await after(() => sent());
  expect([view.area.value, view.all(".th-attached-file").length]).toEqual(["hello\n\nand from another tab", 1]);
});

test("Shift+Enter is a new line, in both settings", async () => {
  for (const sendKey of ["enter", "modEnter"] as const) {
    const view = shown({ sendKey }, "hello");
    await press(view.area, "Enter", { shiftKey: true });
    expect(view.onSend).not.toHaveBeenCalled();
  }
});

test("where Ctrl+Enter sends, Enter does not", async () => {
  const view = shown({ sendKey: "modEnter" }, "hello");
  await press(view.area, "Enter");
  expect(view.onSend).not.toHaveBeenCalled();
  await press(view.area, "Enter", { ctrlKey: true });
  expect(view.onSend).toHaveBeenCalledOnce();
});

test("the Enter that ends a composition of an input method sends nothing", async () => {
  const view = shown({}, "にほん");
  await press(view.area, "Enter", { isComposing: true });
  await press(view.area, "Enter", { keyCode: 229 });
  expect(view.onSend).not.toHaveBeenCalled();
});

test("nothing is sent where there is nothing", async () => {
  const view = shown({}, "  \n");
  await press(view.area, "Enter");
  expect(view.onSend).not.toHaveBeenCalled();
  expect(view.button("Send").disabled).toBe(true);
});

test("what could not be sent stays, with the reason", async () => {
  const onSend = vi.fn(async () => {
    throw new Error("Too many turns wait.");
  });
  const view = shown({ onSend }, "hello");
  await press(view.area, "Enter");
  expect(view.area.value).toBe("hello");
  expect(view.one(".error-text").textContent).toBe("Too many turns wait.");
});

test("while it is being sent, it is not sent again", async () => {
  const onSend = vi.fn(() => new Promise<void>(() => {}));
  const view = shown({ onSend }, "hello");
  await press(view.area, "Enter");
  await press(view.area, "Enter");
  expect(onSend).toHaveBeenCalledOnce();
  expect(view.area.readOnly).toBe(true);
});

test("while a turn runs: queue, steer, stop", async () => {
  const view = shown({ running: true, steerable: true }, "more");
  await press(view.area, "Enter");
  await type(view.area, "now");
  await press(view.area, "Enter", { altKey: true });
  await type(view.area, "and");
  await after(() => view.button("Steer").click());
  expect(view.onSend.mock.calls).toEqual([["more", [], "queue"], ["now", [], "steer"], ["and", [], "steer"]]);
  await after(() => view.button("Stop").click());
  expect(view.onStop).toHaveBeenCalledOnce();
});

test("an agent that has not declared steering gets the message later, and the user reads why", async () => {
  const view = shown({ running: true, steerable: false }, "more");
  expect(view.all("button").map((button) => button.textContent?.trim())).not.toContain("Steer");
  await press(view.area, "Enter", { altKey: true });
  expect(view.onSend.mock.calls).toEqual([["more", [], "queue"]]);
  expect(view.one("[role=status]").textContent).toBe("This agent cannot be steered, so the message is queued.");
  await type(view.area, "next");
  expect(view.one("[role=status]").textContent).toBe("");
});

test("until the agent is known, the daemon decides whether a message can steer it", async () => {
  const view = shown({ running: true }, "more");
  await press(view.area, "Enter", { altKey: true });
  expect(view.onSend.mock.calls).toEqual([["more", [], "steer"]]);
});

test("without a turn there is nothing to stop or steer", () => {
  const view = shown({}, "x");
  expect(view.all("button").map((button) => button.textContent?.trim())).toEqual(["", "Send"]);
  // Only the icon is drawn; the name is for screen readers and in the tooltip.
  const send = view.button("Send");
  expect([send.querySelector(".sr-only")?.textContent, send.title, send.querySelectorAll("svg").length]).toEqual(["Send", "Send (Enter)", 1]);
});

test("a turn that is being stopped cannot be stopped again", () => {
  expect(shown({ running: true, stopping: true }).button("Stopping").disabled).toBe(true);
});

test("where nothing can be sent, it says why, and what is written stays", async () => {
  const view = shown({ barred: "Not connected." }, "hello");
  await press(view.area, "Enter");
  expect(view.onSend).not.toHaveBeenCalled();
  expect(view.text()).toContain("Not connected.");
  await type(view.area, "hello there");
  expect(view.area.value).toBe("hello there");
});

test("commands are offered as a combobox", async () => {
  const view = shown();
  expect(view.area.getAttribute("role")).toBeNull();
  await type(view.area, "/re");
  expect(view.area.getAttribute("role")).toBe("combobox");
  expect(view.area.getAttribute("aria-expanded")).toBe("true");
  const options = view.all("[role=option]");
  expect(options.map((option) => option.querySelector(".th-completion-name")?.textContent)).toEqual(["/review", "/resume"]);
  expect(view.area.getAttribute("aria-controls")).toBe(view.one("[role=listbox]").id);
  expect(view.area.getAttribute("aria-activedescendant")).toBe(options[0]!.id);
  await press(view.area, "ArrowDown");
  expect(view.area.getAttribute("aria-activedescendant")).toBe(view.all("[role=option]")[1]!.id);
  expect(view.one("[aria-selected=true]").textContent).toContain("/resume");
});

test("Enter and Tab complete, and the hint says what comes next", async () => {
  for (const key of ["Enter", "Tab"]) {
    const view = shown();
    await type(view.area, "/rev");
    await press(view.area, key);
    expect(view.area.value).toBe("/review ");
    expect(view.onSend).not.toHaveBeenCalled();
    expect(view.one(".th-composer-hint").textContent).toContain("which files");
    await type(view.area, "/review a.rs");
    expect(view.one(".th-composer-hint").textContent).toBe("");
  }
});

test("a command that is written out is sent by Enter", async () => {
  const view = shown();
  await type(view.area, "/compact");
  await press(view.area, "Enter");
  expect(view.onSend.mock.calls).toEqual([["/compact", [], "queue"]]);
});

test("Escape puts the commands away, and does nothing else", async () => {
  const view = shown();
  const escape = vi.fn();
  document.addEventListener("keydown", escape);
  await type(view.area, "/re");
  await press(view.area, "Escape");
  document.removeEventListener("keydown", escape);
  expect(view.all("[role=option]")).toEqual([]);
  expect(view.area.value).toBe("/re");
  expect(escape).not.toHaveBeenCalled();
});

test("a slash in the middle of words offers nothing", async () => {
  const view = shown();
  await type(view.area, "see src/re");
  expect(view.all("[role=option]")).toEqual([]);
});

test("a pasted picture goes along", async () => {
  const view = shown();
  await give(view.area, "paste", [new File([new Uint8Array([1, 2, 3])], "a.png", { type: "image/png" })]);
  expect(view.one(".th-attached-file").textContent).toContain("a.png");
  await after(() => view.button("Send").click());
  expect(view.onSend.mock.calls).toEqual([["", [{ type: "image", mimeType: "image/png", data: "AQID" }], "queue"]]);
  expect(view.all(".th-attached-file")).toEqual([]);
});

test("while something is being read, nothing is sent without it", async () => {
  const view = shown({}, "look");
  let read: (() => void) | undefined;
  const file = new File(["x"], "a.png", { type: "image/png" });
  file.arrayBuffer = () => new Promise((resolve) => (read = () => resolve(new ArrayBuffer(1))));
  const event = new Event("paste", { bubbles: true, cancelable: true });
  await after(() => view.area.dispatchEvent(Object.assign(event, { clipboardData: { files: [file], types: ["Files"] } })));
  expect(view.one(".th-composer-said").textContent).toBe("Reading attachments…");
  await press(view.area, "Enter");
  expect(view.button("Send").disabled).toBe(true);
  await vi.waitFor(() => expect(read).toBeDefined());
  await after(() => read?.());
  await vi.waitFor(() => expect(view.one(".th-composer-said").textContent).toBe(""));
  await press(view.area, "Enter");
  expect(view.onSend.mock.calls).toEqual([["look", [{ type: "image", mimeType: "image/png", data: "AA==" }], "queue"]]);
});

test("a dropped file goes along as what it says, and can be taken away again", async () => {
  const view = shown({}, "look");
  await give(view.area, "drop", [new File(["fn main() {}"], "a b.rs"), new File([new Uint8Array([255])], "c.bin")]);
  await after(() => view.button("Remove c.bin").click());
  await press(view.area, "Enter");
  expect(view.onSend.mock.calls).toEqual([
    ["look", [{ type: "resource", resource: { uri: "attachment:///a%20b.rs", mimeType: "text/plain", text: "fn main() {}" } }], "queue"],
  ]);
});

test("text that is pasted together with its picture is text", async () => {
  const view = shown();
  const event = await give(view.area, "paste", [], ["text/plain", "Files"]);
  expect(event.defaultPrevented).toBe(false);
});

test("what the agent did not declare is refused in words", async () => {
  const view = shown({ capabilities: { image: false, audio: false, embeddedContext: false } });
  await give(view.area, "paste", [
    new File(["x"], "a.png", { type: "image/png" }), new File(["x"], "b.mp3", { type: "audio/mpeg" }), new File(["x"], "c.txt", { type: "text/plain" }),
  ]);
  expect(view.all(".th-warning").map((words) => words.textContent)).toEqual([
    "a.png: this agent does not accept images.", "b.mp3: this agent does not accept audio.", "c.txt: this agent does not accept files.",
  ]);
  expect(view.all(".th-attached-file")).toEqual([]);
});

test("what a message cannot hold is refused with how much it can", async () => {
  const view = shown({ room: 1_000 });
  await give(view.area, "drop", [new File(["x".repeat(900)], "a.txt"), new File(["x".repeat(200)], "b.txt")]);
  expect(view.all(".th-attached-file")).toHaveLength(1);
  expect(view.one(".th-warning").textContent).toMatch(/^b\.txt is too large: 200 B, and this message has room for \d+ B\.$/);
});

/** A request whose progress and response the test decides. */
class FakeRequest {
  static readonly all: FakeRequest[] = [];
  upload: { onprogress?: (event: { loaded: number }) => void } = {};
  onload?: () => void;
  onabort?: () => void;
  onerror?: () => void;
  status = 0;
  responseText = "";
  opened = "";
  body: unknown;
  constructor() {
    FakeRequest.all.push(this);
  }
  open(method: string, path: string) {
    this.opened = `${method} ${path}`;
  }
  setRequestHeader() {}
  send(body: unknown) {
    this.body = body;
  }
  abort() {
    this.onabort?.();
  }
  respond(status: number, body: unknown) {
    this.status = status;
    this.responseText = typeof body === "string" ? body : JSON.stringify(body);
    this.onload?.();
  }
  static async nth(at: number): Promise<FakeRequest> {
    return vi.waitFor(() => {
      const request = FakeRequest.all[at];
      if (request === undefined || request.body === undefined) throw new Error("not yet");
      return request;
    });
  }
}

test("a file that no message has room for is sent before it, and the message has a link", async () => {
  FakeRequest.all.length = 0;
  vi.stubGlobal("XMLHttpRequest", FakeRequest);
  try {
    const view = shown({ room: 1_000, name: "large", threadId: "t 1" }, "look");
    const files = [new File(["x".repeat(2_000)], "a/ü.pdf"), new File(["y".repeat(3_000)], "b.pdf")];
    await give(view.area, "drop", files);
    expect(view.all(".th-attached-file")).toHaveLength(2);
    const first = await FakeRequest.nth(0);
    expect([first.opened, first.body]).toEqual(["PUT /api/threads/t%201/attachments/a%2F%C3%BC.pdf", files[0]]);
    await after(() => first.upload.onprogress?.({ loaded: 500 }));
    const progress = view.one<HTMLProgressElement>("progress");
    expect([progress.max, progress.value, progress.getAttribute("aria-label")]).toEqual([2_000, 500, "Sending a/ü.pdf"]);
    // What is written waits for the file.
    expect(view.button("Send").disabled).toBe(true);
    await press(view.area, "Enter");
    expect(view.onSend).not.toHaveBeenCalled();
    const block = { type: "resource_link", uri: "file:///d/t/h/%C3%BC.pdf", name: "ü.pdf", mimeType: "application/pdf", size: 2_000 };
    await after(() => first.respond(200, { block }));
    const second = await FakeRequest.nth(1);
    await after(() => second.respond(409, { error: { code: "conflict", message: "this thread has no room for the file" } }));
    await vi.waitFor(() => expect(view.all("progress")).toEqual([]));
    expect(view.one(".th-warning").textContent).toBe("Couldn’t attach b.pdf. this thread has no room for the file");
    expect(view.one(".th-attached-file").textContent).toContain("2 kB, as a file");
    expect(view.area.value).toBe("look");
    await press(view.area, "Enter");
    expect(view.onSend.mock.calls).toEqual([["look", [block], "queue"]]);
  } finally {
    vi.unstubAllGlobals();
  }
});

test("a file on its way is cancelled; what the agent cannot embed is a file, too; 50 MiB are the most", async () => {
  FakeRequest.all.length = 0;
  vi.stubGlobal("XMLHttpRequest", FakeRequest);
  try {
    const capabilities = { image: false, audio: false, embeddedContext: false };
    const view = shown({ name: "cancelled", threadId: "t", capabilities }, "look");
    await give(view.area, "drop", [new File(["x"], "a.png", { type: "image/png" }), new File(["x"], "b.txt")]);
    await FakeRequest.nth(0);
    await after(() => view.button("Cancel a.png").click());
    await after(() => view.button("Cancel b.txt").click());
    expect(view.all(".th-attached-file, .th-warning")).toEqual([]);
    expect(view.button("Send").disabled).toBe(false);
    const huge = new File(["x"], "huge.bin");
    Object.defineProperty(huge, "size", { value: 60_000_000 });
    await give(view.area, "drop", [huge]);
    expect(view.one(".th-warning").textContent).toBe("huge.bin is too large: 60 MB, and a file may have 52 MB.");
    expect(FakeRequest.all).toHaveLength(1);
  } finally {
    vi.unstubAllGlobals();
  }
});

test("signing out ends what is being sent, and attaches nothing that is still being read", async () => {
  FakeRequest.all.length = 0;
  vi.stubGlobal("XMLHttpRequest", FakeRequest);
  vi.stubGlobal("fetch", () => Promise.reject(new Error("offline")));
  try {
    const view = shown({ room: 1_000, name: "left", threadId: "t" }, "look");
    await give(view.area, "drop", [new File(["x".repeat(2_000)], "a.pdf"), new File(["x"], "b.txt")]);
    const request = await FakeRequest.nth(0);
    const abort = vi.spyOn(request, "abort");
    let read: (() => void) | undefined;
    const slow = new File(["x"], "c.png", { type: "image/png" });
    slow.arrayBuffer = () => new Promise((resolve) => (read = () => resolve(new ArrayBuffer(1))));
    const event = Object.assign(new Event("drop", { bubbles: true, cancelable: true }), { dataTransfer: { files: [slow], types: ["Files"] } });
    await after(() => view.area.dispatchEvent(event));
    await vi.waitFor(() => expect(read).toBeDefined());
    await after(() => leave());
    expect(abort).toHaveBeenCalledOnce();
    await after(() => read!());
    await vi.waitFor(() => expect(view.text()).not.toContain("Reading attachments"));
    expect(view.all(".th-attached-file, .th-warning")).toEqual([]);
  } finally {
    vi.unstubAllGlobals();
  }
});

test.each([true, false])("a folder, and a file that cannot be read, are not sent to the daemon (the agent accepts files: %s)", async (embeddedContext) => {
  FakeRequest.all.length = 0;
  vi.stubGlobal("XMLHttpRequest", FakeRequest);
  try {
    const view = shown({ threadId: "t", capabilities: { image: true, audio: true, embeddedContext } }, "look");
    const folder = new File(["x"], "src");
    const refuse = () => Promise.reject(new DOMException("gone", "NotFoundError"));
    Object.assign(folder, { arrayBuffer: refuse, text: refuse, slice: () => ({ arrayBuffer: refuse }) });
    await give(view.area, "drop", [folder]);
    expect(view.all(".th-warning").map(({ textContent }) => textContent)).toEqual(["Couldn’t read src."]);
    expect(view.all(".th-attached-file")).toEqual([]);
    expect(FakeRequest.all).toEqual([]);
  } finally {
    vi.unstubAllGlobals();
  }
});

test("words that a message cannot hold are not sent: the daemon would hang up", async () => {
  const view = shown({ room: 100 }, "ü".repeat(60));
  await press(view.area, "Enter");
  expect(view.onSend).not.toHaveBeenCalled();
  expect(view.one(".error-text").textContent).toBe("The message is 22 B too large.");
  expect(view.area.value).toHaveLength(60);
});

test("commands are mentioned only where there are some", () => {
  expect(shown().area.placeholder).toBe("Message the agent, / for commands");
  expect(shown({ commands: [] }).area.placeholder).toBe("Message the agent");
  expect(shown({ running: true }).area.placeholder).toBe("Queue a follow-up");
});

test("a message without an answer for two seconds says that the page reconnects", async () => {
  vi.useFakeTimers();
  try {
    let sent!: () => void;
    const view = shown({ onSend: () => new Promise<void>((resolve) => (sent = resolve)) }, "hello");
    await press(view.area, "Enter");
    await after(() => vi.advanceTimersByTime(1_900));
    expect(view.one(".th-composer-said").textContent).toBe("");
    await after(() => vi.advanceTimersByTime(200));
    expect(view.one(".th-composer-said").textContent).toBe("No answer yet. Reconnecting…");
    await after(() => sent());
    expect(view.one(".th-composer-said").textContent).toBe("");
  } finally {
    vi.useRealTimers();
  }
});

test("Escape leaves the text area", async () => {
  const view = shown({}, "hello");
  await after(() => view.area.focus());
  await press(view.area, "Escape");
  expect(document.activeElement).toBe(document.body);
  expect(view.area.value).toBe("hello");
});

test("attachments stay with their draft while another view is shown", async () => {
  const view = shown({ name: "t1" });
  await give(view.area, "paste", [new File(["x"], "kept.txt")]);
  view.draw(null);
  expect(shown({ name: "t2" }).all(".th-attached-file")).toEqual([]);
  const again = shown({ name: "t1" });
  expect(again.one(".th-attached-file").textContent).toContain("kept.txt");
  await after(() => again.button("Remove kept.txt").click());
});

test("an agent that was asked to stop can be ended after 3 s, not before", async () => {
  vi.useFakeTimers();
  try {
    const onStopNow = vi.fn();
    const view = shown({ running: true, stopping: true, onStopNow });
    const stopNow = () => view.all("button").filter(({ textContent }) => textContent === "Stop now") as HTMLButtonElement[];
    await after(() => vi.advanceTimersByTime(2_999));
    expect(stopNow()).toHaveLength(0);
    await after(() => vi.advanceTimersByTime(2));
    await after(() => stopNow()[0]!.click());
    expect(onStopNow).toHaveBeenCalledTimes(1);
  } finally {
    vi.useRealTimers();
  }
});

test("the arrow keys recall earlier prompts into the empty box, and leave a text alone", async () => {
  const view = shown({ prompts: () => ["/review all", "first"] });
  await press(view.area, "ArrowUp");
  expect(view.area.value).toBe("/review all");
  expect(view.all("[role=option]")).toEqual([]);
  await press(view.area, "ArrowUp");
  expect(view.area.value).toBe("first");
  await press(view.area, "ArrowDown");
  await press(view.area, "ArrowDown");
  expect(view.area.value).toBe("");
  await press(view.area, "ArrowUp", { altKey: true });
  expect(view.area.value).toBe("");
  await type(view.area, "mine");
  await press(view.area, "ArrowUp");
  expect(view.area.value).toBe("mine");
});

test("a suggested prompt fills the message, and does not send it", async () => {
  const view = shown({ suggestions: ["Run the tests", "Commit\u202e it"] });
  const chips = () => view.all(".th-suggestion");
  expect(chips().map((chip) => chip.textContent)).toEqual(["Run the tests", "Commit⟨U+202E⟩ it"]);
  await after(() => chips()[1]!.click());
  expect(view.area.value).toBe("Commit\u202e it");
  expect(view.onSend).not.toHaveBeenCalled();
  expect(chips()).toEqual([]);
});

test("the right arrow takes the first suggestion into an empty message", async () => {
  const view = shown({ suggestions: ["Run the tests", "Commit"] });
  await press(view.area, "ArrowRight", { shiftKey: true });
  expect(view.area.value).toBe("");
  await press(view.area, "ArrowRight");
  expect(view.area.value).toBe("Run the tests");
  expect(view.onSend).not.toHaveBeenCalled();
  await type(view.area, "Run");
  await press(view.area, "ArrowRight");
  expect(view.area.value).toBe("Run");
});

test("nothing is suggested where nothing can be written", () => {
  const view = shown({ suggestions: ["Run the tests"], barred: "Offline." });
  expect(view.all(".th-suggestion")).toEqual([]);
});

test("a skill is offered with its kind", async () => {
  const view = shown({ commands: [...COMMANDS, { name: "rewrite", description: "In plain words", skill: true }] });
  await type(view.area, "/re");
  const kinds = view.all("[role=option]").map((option) => option.querySelector(".th-completion-kind")?.textContent);
  expect(kinds).toEqual([undefined, undefined, "Skill"]);
});
