import type { Client } from "@acpd/client";
import { afterEach, expect, test, vi } from "vitest";

import { agents, defaultFolder, folders, justInstalled, lastAgent, settingsOf } from "../../app/agents.ts";
import { draftOf, keepDraft, NEW_THREAD } from "../../app/drafts.ts";
import { touch } from "../../app/layout.ts";
import { go, route } from "../../app/route.ts";
import { client, link, standing } from "../../connection/connection.ts";
import { after, drawn, press, type } from "../testing.ts";
import { isSending } from "../thread/composer/sending.ts";
import { attachmentsOf, putAttachments } from "../thread/composer/use-attachments.ts";
import NewThread from "./NewThread.tsx";

/** The daemons of a test. */
const daemons: Daemon[] = [];

afterEach(async () => {
  vi.unstubAllGlobals();
  for (const daemon of daemons.splice(0)) await daemon.end();
  client.value = undefined;
  link.value = { name: "connecting" };
  settingsOf.value = {};
  folders.value = [];
  defaultFolder.value = "";
  lastAgent.value = "";
  go({ view: "home" });
});

const modes = (...names: string[]) => ({ availableModes: names.map((name) => ({ id: name, name })), currentModeId: names[0] });

/** An agent of the daemon: its name, or more members. */
type Listed = string | { id: string; isSetUp?: boolean; isDefault?: boolean };

/** A daemon with these agents, whose responses the test sends. */
class Daemon {
  readonly asked: string[] = [];
  readonly state = { name: "open" };
  /** A folder that does not exist. */
  missing = "";
  constructor(private readonly agents: readonly Listed[]) {
    daemons.push(this);
  }
  #waiting: { method: string; params: Record<string, unknown>; resolve: (result: unknown) => void; reject: (why: Error) => void }[] = [];

  call(method: string, params: Record<string, unknown> = {}): Promise<unknown> {
    if (method === "agent/list") {
      const listed = (agent: Listed) => {
        const members = typeof agent === "string" ? { id: agent } : agent;
        return { title: members.id, installed: true, isSetUp: true, isDefault: false, source: "config", ...members };
      };
      return Promise.resolve({ data: this.agents.map(listed) });
    }
    // The list next to the form and what the user has seen are not part of this test.
    if (method === "thread/seen/set" || method === "user/present") {
      return Promise.resolve({ since: 0, away: null });
    }
    if (method === "thread/list/watch" || (method === "thread/list" && params.agentType === undefined)) {
      return Promise.resolve({ data: [] });
    }
    if (method === "folder/list") {
      const { path } = params as { path: string };
      const listing = { path: path.replace(/^~/, "/home/ann").replace(/(.)\/$/, "$1"), host: "box", home: "/home/ann", truncated: false };
      return path.startsWith("/none") || path === this.missing
        ? Promise.reject(Object.assign(new Error("folder not found"), { code: "not_found" }))
        : Promise.resolve({ ...listing, folders: [{ name: "proj", repository: true }, { name: "prose", repository: false }, { name: ".ssh", repository: false }] });
    }
    this.asked.push(`${method} ${JSON.stringify(params)}`);
    return new Promise((resolve, reject) => this.#waiting.push({ method, params, resolve, reject }));
  }
  #listeners = new Map<string, (params: unknown) => void>();
  on = (method: string, listener: (params: unknown) => void) => {
    this.#listeners.set(method, listener);
    return () => {};
  };
  emit = (method: string, params: unknown) => this.#listeners.get(method)?.(params);

  /** Responds to the oldest request of a method, once it is there. */
  async respond(method: string, result: unknown): Promise<void> {
    await vi.waitFor(() => expect(this.#waiting.some((one) => one.method === method)).toBe(true));
    await after(() => this.#take(method).resolve(result));
  }
  refuse(method: string, code: string): Promise<void> {
    return after(() => this.#take(method).reject(Object.assign(new Error("no"), { code })));
  }
  #take(method: string) {
    const at = this.#waiting.findIndex((one) => one.method === method);
    return this.#waiting.splice(at, 1)[0]!;
  }
  onState = () => () => {};
  ready = async () => {};
  // A thread that has started is opened.
  follow = () => ({ resumed: new Promise(() => {}), close: () => {} });

  /** Responds to the oldest pending request. */
  answer(result: unknown): Promise<void> {
    return after(() => this.#waiting.shift()!.resolve(result));
  }
  /** Refuses what is pending: a form that waits for an answer would keep its draft from the next one. */
  end(): Promise<void> {
    return after(() => this.#waiting.splice(0).forEach(({ reject }) => reject(new Error("over"))));
  }
  fail(): Promise<void> {
    return after(() => this.#waiting.shift()?.reject(new Error("no")));
  }
}

/** Renders the form with the daemon's agents. */
async function form(wished?: string, listed: readonly Listed[] = ["one", "two"]) {
  const daemon = new Daemon(listed);
  standing.value = { name: "in", session: { principal: "ann", role: "owner" } };
  client.value = daemon as unknown as Client;
  link.value = { name: "open" } as typeof link.value;
  const view = drawn(<NewThread agent={wished} />);
  await after(() => vi.dynamicImportSettled());
  expect(agents.value).toHaveLength(listed.length);
  const offered = () => view.all("#mode option").map((option) => option.textContent);
  return { daemon, view, offered, pick: (agent: string) => type(view.one<HTMLSelectElement>("#agent"), agent) };
}

test("of an agent that this browser has had no thread of, the newest thread says what it can be set to", async () => {
  const { daemon, view, offered } = await form();
  expect(daemon.asked).toEqual(['thread/list {"agentType":"one","limit":1}']);
  await daemon.answer({ data: [{ id: "t" }] });
  expect(daemon.asked.slice(1)).toEqual(['thread/read {"threadId":"t"}']);
  expect(offered()).toEqual([]);
  const verbose = { id: "verbose", name: "Verbose", type: "boolean", currentValue: false };
  await daemon.answer({ thread: { modes: modes("Ask", "Code"), configOptions: [verbose] } });
  expect(offered()).toEqual(["Agent default", "Ask", "Code"]);
  expect(view.one("label[for=option-verbose]").textContent).toBe("Verbose");
});

test("the chip in the bar names the folder, and Escape leads from its field back to the prompt", async () => {
  folders.value = ["/a/api", "/b/api"];
  const { view } = await form();
  expect(view.one(".th-composer-foot .folder-chip").textContent).toBe("a/api");
  await type(view.one<HTMLInputElement>("#folder"), `/home/${"x".repeat(4_000)}/end\u202E`);
  expect(view.one(".folder-chip").textContent).toMatch(/^end/);
  expect(view.one(".folder-chip").textContent).not.toContain("\u202E");
  await type(view.one<HTMLInputElement>("#folder"), "");
  expect(view.one(".folder-chip").textContent).toBe("Choose a folder");
  view.one("#folder").focus();
  await press(view.one("#folder"), "Escape");
  // The first one has closed the suggestions.
  await press(view.one("#folder"), "Escape");
  expect(document.activeElement?.id).toBe("prompt");
});

test("recent folders are a press away, and the one in the field is not among them", async () => {
  folders.value = ["/a/one", "/b/two", "/c/three", "/d/four", "/e/five"];
  const { view } = await form();
  const chips = () => view.all(".folder-chips button");
  expect(view.one<HTMLInputElement>("#folder").value).toBe("/a/one");
  expect(chips().map((chip) => [chip.textContent?.trim(), chip.title])).toEqual([["two", "/b/two"], ["three", "/c/three"], ["four", "/d/four"]]);
  await after(() => chips()[0]!.click());
  expect(view.one<HTMLInputElement>("#folder").value).toBe("/b/two");
  expect(chips().map((chip) => chip.textContent?.trim())).toEqual(["one", "three", "four"]);
});

test("the folder that the user has set goes before the latest one", async () => {
  folders.value = ["/a/one", "/b/two"];
  defaultFolder.value = "/b/two";
  const { view } = await form();
  expect(view.one<HTMLInputElement>("#folder").value).toBe("/b/two");
  expect(view.all(".folder-chips button").map(({ title }) => title)).toEqual(["/a/one"]);
});

test("a recent folder keeps the focus in the form, and its name tells it from the others", async () => {
  folders.value = ["/a/one", "/b/api", "/c/api", "/d/four"];
  const { view } = await form();
  const chips = () => view.all(".folder-chips button");
  expect(chips().map((chip) => chip.textContent?.trim())).toEqual(["b/api", "c/api", "four"]);
  await after(() => {
    chips()[1]!.focus();
    chips()[1]!.click();
  });
  expect([view.one<HTMLInputElement>("#folder").value, document.activeElement?.id]).toEqual(["/c/api", "folder"]);
  // On touch, the field would open the keyboard.
  touch.value = true;
  try {
    await after(() => {
      chips()[1]!.focus();
      chips()[1]!.click();
    });
    expect([view.one<HTMLInputElement>("#folder").value, document.activeElement === chips()[1]]).toEqual(["/b/api", true]);
  } finally {
    touch.value = false;
  }
});

test("what this browser remembers is offered without asking", async () => {
  settingsOf.value = { one: { modes: modes("Remembered") } };
  const { daemon, offered } = await form();
  expect(daemon.asked).toEqual([]);
  expect(offered()).toEqual(["Agent default", "Remembered"]);
});

test("what comes late for an agent that is no longer picked is not offered", async () => {
  const { daemon, offered, pick } = await form();
  await daemon.answer({ data: [{ id: "t" }] });
  await pick("two");
  expect(daemon.asked.at(-1)).toBe('thread/list {"agentType":"two","limit":1}');
  await daemon.answer({ thread: { modes: modes("Of one") } });
  expect(offered()).toEqual([]);
  await daemon.answer({ data: [{ id: "u" }] });
  await daemon.answer({ thread: { modes: modes("Of two") } });
  expect(offered()).toEqual(["Agent default", "Of two"]);
});

test("where there is no thread, or it cannot be read, nothing is said", async () => {
  const { daemon, view, offered, pick } = await form();
  await daemon.answer({ data: [] });
  await pick("two");
  await daemon.fail();
  expect(offered()).toEqual([]);
  expect(view.all(".error-text, [role=alert]")).toEqual([]);
});

test("of an agent without threads, the agent itself says what it can be set to, once the user wants to see it", async () => {
  folders.value = ["/w"];
  const { daemon, view, offered } = await form();
  await daemon.answer({ data: [] });
  expect(daemon.asked).toHaveLength(1);
  const details = view.one<HTMLDetailsElement>(".home-more");
  await after(() => {
    details.open = true;
    details.dispatchEvent(new Event("toggle"));
  });
  await daemon.respond("agent/options", { result: { modes: modes("Early"), configOptions: 7 } });
  expect(daemon.asked.at(-1)).toBe('agent/options {"agentType":"one","cwd":"/w"}');
  expect(offered()).toEqual(["Agent default", "Early"]);
});

test("a system prompt goes along with the start", async () => {
  folders.value = ["/w"];
  const { daemon, view } = await form();
  await type(view.one<HTMLTextAreaElement>("#system-prompt"), "Be kind.");
  await after(() => view.button("Open").click());
  await vi.waitFor(() => expect(daemon.asked.some((asked) => asked.startsWith("thread/start"))).toBe(true));
  const start = daemon.asked.find((asked) => asked.startsWith("thread/start"))!;
  expect(JSON.parse(start.slice("thread/start ".length))).toMatchObject({ systemPrompt: { content: "Be kind." } });
  await daemon.respond("thread/start", { thread: { id: "t" } });
});

test("the prompt is a draft: it is there after another view", async () => {
  const { view } = await form();
  await type(view.one<HTMLTextAreaElement>("#prompt"), "a long task");
  view.draw(null);
  const again = await form();
  expect(again.view.one<HTMLTextAreaElement>("#prompt").value).toBe("a long task");
  await type(again.view.one<HTMLTextAreaElement>("#prompt"), "");
});

test("the first prompt takes files, and is sent with them", async () => {
  const { daemon, view } = await form();
  await type(view.one<HTMLInputElement>("#folder"), "/w");
  const event = new Event("paste", { bubbles: true, cancelable: true });
  const files = [new File(["fn main() {}"], "a.rs")];
  await after(() => view.one("#prompt").dispatchEvent(Object.assign(event, { clipboardData: { files, types: ["Files"] } })));
  await vi.waitFor(() => view.one(".th-attached-file"));
  await after(() => view.button("Open").click());
  const sent = daemon.asked.find((asked) => asked.startsWith("thread/start"))!;
  expect(JSON.parse(sent.slice("thread/start ".length))).toMatchObject({ agentType: "one", cwd: "/w", input: [{ type: "resource" }] });
  // It is kept until it is sent.
  await vi.waitFor(async () => {
    await daemon.fail();
    expect(view.one<HTMLButtonElement>(".th-remove").disabled).toBe(false);
  });
  await after(() => view.one<HTMLButtonElement>(".th-remove").click());
});

/** An upload, which the test answers. */
class Upload {
  static all: Upload[] = [];
  opened = "";
  upload = {};
  status = 0;
  responseText = "";
  onload?: () => void;
  constructor() {
    Upload.all.push(this);
  }
  open(method: string, path: string) {
    this.opened = `${method} ${path}`;
  }
  setRequestHeader() {}
  send() {}
  abort() {}
  answer(status: number, body: object): Promise<void> {
    [this.status, this.responseText] = [status, JSON.stringify(body)];
    return after(() => this.onload?.());
  }
}

/** Starts a thread with a file that no message has room for, up to its upload. */
async function startWithFile(): Promise<{ daemon: Daemon; upload: Upload }> {
  Upload.all = [];
  vi.stubGlobal("XMLHttpRequest", Upload);
  const { daemon, view } = await form();
  await type(view.one<HTMLInputElement>("#folder"), "/w");
  await type(view.one<HTMLTextAreaElement>("#prompt"), "read it");
  const event = new Event("paste", { bubbles: true, cancelable: true });
  const files = [new File(["x".repeat(1_100_000)], "a.pdf"), new File(["fn main() {}"], "a.rs")];
  await after(() => view.one("#prompt").dispatchEvent(Object.assign(event, { clipboardData: { files, types: ["Files"] } })));
  await vi.waitFor(() => expect(view.all(".th-attached-file")).toHaveLength(2));
  expect([Upload.all, view.one(".th-attached").textContent]).toEqual([[], expect.stringContaining("as a file")]);
  await after(() => view.button("Start").click());
  await daemon.respond("thread/start", { thread: { id: "t" } });
  const start = daemon.asked.find((asked) => asked.startsWith("thread/start"))!;
  expect(JSON.parse(start.slice("thread/start ".length))).toEqual({ agentType: "one", cwd: "/w" });
  await vi.waitFor(() => expect(Upload.all.map(({ opened }) => opened)).toEqual(["PUT /api/threads/t/attachments/a.pdf"]));
  expect([route.value, draftOf("t")]).toEqual([{ view: "thread", threadId: "t" }, "read it"]);
  await vi.waitFor(() => expect(draftOf(NEW_THREAD)).toBe(""));
  expect(daemon.asked.filter((asked) => asked.startsWith("turn/"))).toEqual([]);
  return { daemon, upload: Upload.all[0]! };
}

test("a file that no message has room for waits for the thread, and the first prompt for the file", async () => {
  const { daemon, upload } = await startWithFile();
  const block = { type: "resource_link", uri: "file:///d/a.pdf", name: "a.pdf" };
  await upload.answer(200, { block });
  await daemon.respond("turn/start", {});
  const turn = daemon.asked.find((asked) => asked.startsWith("turn/start"))!;
  expect(JSON.parse(turn.slice("turn/start ".length))).toMatchObject({ threadId: "t", text: "read it", input: [{ type: "resource" }, block] });
  await vi.waitFor(() => expect([draftOf("t"), attachmentsOf("t")]).toEqual(["", []]));
});

test("a file that is attached while the first prompt is on its way stays", async () => {
  const { daemon, upload } = await startWithFile();
  await upload.answer(200, { block: { type: "resource_link", uri: "file:///d/a.pdf", name: "a.pdf" } });
  await vi.waitFor(() => expect(daemon.asked.some((asked) => asked.startsWith("turn/start"))).toBe(true));
  const added = { name: "b.rs", block: { type: "resource" }, size: 1 };
  putAttachments("t", [...attachmentsOf("t"), added]);
  await daemon.respond("turn/start", {});
  await vi.waitFor(() => expect([draftOf("t"), attachmentsOf("t")]).toEqual(["", [added]]));
  putAttachments("t", []);
});

test("a first prompt whose answer a broken connection loses is sent again as the same turn", async () => {
  const { daemon, upload } = await startWithFile();
  await upload.answer(200, { block: { type: "resource_link", uri: "file:///d/a.pdf", name: "a.pdf" } });
  const turns = () => daemon.asked.filter((asked) => asked.startsWith("turn/start"));
  await vi.waitFor(() => expect(turns()).toHaveLength(1));
  await daemon.refuse("turn/start", "disconnected");
  await daemon.respond("turn/start", {});
  await vi.waitFor(() => expect([draftOf("t"), attachmentsOf("t"), isSending("t")]).toEqual(["", [], false]));
  expect(turns()[1]).toBe(turns()[0]);
});

test("a first prompt whose file is refused stays in the composer of the thread", async () => {
  const { daemon, upload } = await startWithFile();
  await upload.answer(409, { error: { code: "conflict", message: "no room" } });
  await vi.waitFor(() => expect(isSending("t")).toBe(false));
  expect([draftOf("t"), attachmentsOf("t").map(({ name }) => name)]).toEqual(["read it", ["a.rs"]]);
  expect(daemon.asked.filter((asked) => asked.startsWith("turn/"))).toEqual([]);
  keepDraft("t", "");
  putAttachments("t", []);
});

test("the latest folder is filled in once, and not while the user is in the field", async () => {
  const { view } = await form();
  const field = view.one<HTMLInputElement>("#folder");
  await after(() => field.focus());
  await after(() => (folders.value = ["/late"]));
  expect(field.value).toBe("");
  await after(() => field.blur());
  expect(field.value).toBe("/late");
  // A thread that starts elsewhere does not change what the user sees.
  await after(() => (folders.value = ["/later", "/late"]));
  expect(field.value).toBe("/late");
  await type(field, "");
  await after(() => field.blur());
  expect(field.value).toBe("");
});

test("a folder that is no absolute path is marked, and gets the focus", async () => {
  const { view } = await form();
  await type(view.one<HTMLInputElement>("#folder"), "proj");
  await press(view.one("#folder"), "Enter");
  const folder = view.one("#folder");
  expect(folder.getAttribute("aria-invalid")).toBe("true");
  expect(document.getElementById(folder.getAttribute("aria-describedby")!)?.textContent).toContain("absolute path");
  expect(document.activeElement).toBe(folder);
  await type(view.one<HTMLInputElement>("#folder"), "/proj");
  expect(folder.getAttribute("aria-invalid")).toBe("false");
});

test("a path of the home directory is resolved before the thread starts", async () => {
  const { daemon, view } = await form();
  await type(view.one<HTMLInputElement>("#folder"), "~/proj/");
  await after(() => view.button("Open").click());
  const sent = daemon.asked.find((asked) => asked.startsWith("thread/start"))!;
  expect(JSON.parse(sent.slice("thread/start ".length)).cwd).toBe("/home/ann/proj");
});

test("a folder that does not exist can be created, and then the prompt has the focus", async () => {
  const { daemon, view } = await form();
  await type(view.one<HTMLInputElement>("#folder"), "/none/here");
  await press(view.one("#folder"), "Enter");
  await vi.waitFor(() => expect(view.text()).toContain("No such folder on box."));
  expect(view.one("#folder").getAttribute("aria-invalid")).toBe("true");
  await after(() => view.button("Create it").click());
  await daemon.respond("folder/create", { path: "/none/here" });
  expect(view.one("#folder").getAttribute("aria-invalid")).toBe("false");
  expect(document.activeElement?.id).toBe("prompt");
  expect(daemon.asked.some((asked) => asked.startsWith("thread/start"))).toBe(false);
});

test("the folder is completed by keys, as a combobox", async () => {
  const { view } = await form();
  const field = view.one<HTMLInputElement>("#folder");
  const options = () => view.all("[role=option]").map(({ textContent }) => textContent);
  await type(field, "/home/ann/pro");
  expect(options()).toEqual(["projGit", "prose"]);
  expect([field.getAttribute("aria-expanded"), field.getAttribute("aria-activedescendant")]).toEqual(["true", null]);
  await press(field, "ArrowDown");
  expect(document.getElementById(field.getAttribute("aria-activedescendant")!)?.textContent).toBe("projGit");
  await press(field, "Enter");
  expect(field.value).toBe("/home/ann/proj/");
  await press(field, "Escape");
  expect([field.getAttribute("aria-expanded"), options()]).toEqual(["false", []]);
  // A name that is complete covers nothing; a hidden folder needs its dot.
  await type(field, "/home/ann/prose");
  expect(options()).toEqual([]);
  await type(field, "/home/ann/.");
  expect(options()).toEqual([".ssh"]);
});

test("an agent of a link that is not there is named, and not silently replaced", async () => {
  expect((await form("missing")).view.text()).toContain("The agent “missing” is not available");
  expect((await form("two")).view.text()).not.toContain("is not available");
});

test("without agents there are steps to set one up in place of the form", async () => {
  const { view } = await form(undefined, []);
  await vi.waitFor(() => view.one(".setup-steps"));
  expect(view.all("form")).toEqual([]);
  expect(view.all(".setup-steps h3").map(({ textContent }) => textContent)).toEqual(["Choose an agent", "Check", "Sign in", "Start"]);
  expect(view.text()).toContain("acpd serve --demo");
});

test("the demo alone is no agent: it is a button beside the steps, and starts at once", async () => {
  const { daemon, view } = await form(undefined, ["demo"]);
  await vi.waitFor(() => view.one(".setup-steps"));
  expect([view.all("form"), view.all(".setup-agent"), view.text().includes("acpd serve")]).toEqual([[], [], false]);
  await after(() => view.button("Try the demo").click());
  await vi.waitFor(() => expect(daemon.asked.at(-1)).toMatch(/^thread\/start {"agentType":"demo","cwd":"\/home\/ann\/acpd-demo","text":"Show me/));
  await daemon.refuse("thread/start", "rate_limited");
  expect(view.one("[role=alert]").textContent).toBe("Couldn’t start the demo: no");
  await after(() => view.button("Try the demo").click());
  await daemon.respond("thread/start", { thread: { id: "t" } });
  expect(route.value).toEqual({ view: "thread", threadId: "t" });
});

test("who wishes for the demo by a link has the form, and who has chosen it as the default, too", async () => {
  const { view } = await form("demo", ["demo"]);
  expect(view.one<HTMLSelectElement>("#agent").value).toBe("demo");
  const chosen = await form(undefined, [{ id: "demo", isDefault: true }, { id: "by-npx", isSetUp: false }]);
  expect(chosen.view.one<HTMLSelectElement>("#agent").value).toBe("demo");
});

test("the demo needs no folder: it has one of its own, which is created", async () => {
  const { daemon, view } = await form(undefined, [{ id: "demo", isDefault: true }, "one"]);
  const field = view.one<HTMLInputElement>("#folder");
  expect(field.value).toBe("~/acpd-demo");
  daemon.missing = "~/acpd-demo";
  // What an earlier test has listed is forgotten.
  const later = performance.now() + 60_000;
  vi.spyOn(performance, "now").mockReturnValue(later);
  await type(view.one<HTMLTextAreaElement>("#prompt"), "hello");
  await after(() => view.button("Start").click());
  await daemon.respond("folder/create", { path: "/home/ann/acpd-demo" });
  await vi.waitFor(() => expect(daemon.asked.at(-1)).toMatch(/^thread\/start {"agentType":"demo","cwd":"\/home\/ann\/acpd-demo","text":"hello"/));
  await daemon.respond("thread/start", { thread: { id: "t" } });
  await vi.waitFor(() => expect(folders.value).toEqual(["/home/ann/acpd-demo"]));
  vi.restoreAllMocks();
});

test("the default is selected, not the agent that was used last", async () => {
  lastAgent.value = "two";
  const { view } = await form(undefined, [{ id: "three", isDefault: true }, "one", "two"]);
  expect(view.one<HTMLSelectElement>("#agent").value).toBe("three");
  expect(view.all("#agent option").map(({ textContent }) => textContent)).toEqual(["three", "one", "two"]);
});

test("without a default, the agent that was used last is selected", async () => {
  lastAgent.value = "two";
  const { view } = await form();
  expect(view.one<HTMLSelectElement>("#agent").value).toBe("two");
});

test("an agent that is not set up is never selected by itself, and leads to the Agents page", async () => {
  const byNpx = { id: "by-npx", isSetUp: false };
  lastAgent.value = "by-npx";
  const { daemon, view, pick } = await form(undefined, [byNpx, "one"]);
  expect(view.one<HTMLSelectElement>("#agent").value).toBe("one");
  expect(view.all("#agent > option").map(({ textContent }) => textContent)).toEqual(["one"]);
  expect(view.all("optgroup[label='Not set up yet'] option").map(({ textContent }) => textContent)).toEqual(["by-npx"]);
  await type(view.one<HTMLInputElement>("#folder"), "/w");
  await pick("by-npx");
  expect(view.one(".home-note").textContent).toBe("by-npx is not set up yet. Install it on the Agents page");
  await press(view.one("#folder"), "Enter");
  await press(view.one("#prompt"), "Enter", { ctrlKey: true });
  expect(daemon.asked.filter((asked) => asked.startsWith("thread/start"))).toEqual([]);
  await after(() => view.one(".home-note a").click());
  expect(route.value.view).toBe("agents");
  // A link to it does the same.
  const linked = await form("by-npx", [byNpx, "one"]);
  expect(linked.view.text()).toContain("by-npx is not set up yet.");
  expect(linked.view.text()).not.toContain("is not available");
});

test("where nothing is set up, agents that would be downloaded do not count", async () => {
  const { view } = await form(undefined, [{ id: "by-npx", isSetUp: false }, "demo"]);
  await vi.waitFor(() => view.one(".setup-steps"));
  expect(view.all("form")).toEqual([]);
});

test("an agent that was just installed is checked beside the form", async () => {
  justInstalled.value = "one";
  const { daemon, view } = await form();
  await vi.waitFor(() => view.one(".setup-installed"));
  await after(() => view.button("Check one").click());
  expect(view.button("Check one").getAttribute("aria-busy")).toBe("true");
  await daemon.respond("agent/doctor", { agentType: "one", millis: 5, stderr: "", strayLines: [], hello: { protocolVersion: 1 } });
  expect(view.one(".setup-installed [role=status]").textContent).toContain("Started in 5 ms");
  justInstalled.value = undefined;
});

test("a thread whose agent wants a sign-in is opened, with the prompt, even if its event comes late", async () => {
  const { daemon, view } = await form();
  await type(view.one<HTMLInputElement>("#folder"), "/w");
  await type(view.one<HTMLTextAreaElement>("#prompt"), "a long task");
  await after(() => view.button("Start").click());
  await daemon.refuse("thread/start", "sign_in_required");
  expect(route.value.view).toBe("home");
  await after(() => daemon.emit("thread/started", { threadId: "t", thread: { cwd: "/w", agentType: "one" } }));
  await daemon.respond("thread/read", { thread: { turnCount: 0 } });
  expect(route.value).toEqual({ view: "thread", threadId: "t" });
  await vi.waitFor(() => expect([draftOf(NEW_THREAD), draftOf("t")]).toEqual(["", "a long task"]));
});

test("where there are no threads yet, the demo is offered if the daemon has it", async () => {
  const { view } = await form(undefined, ["one", "demo"]);
  await vi.waitFor(() => view.button("Try the demo"));
});
