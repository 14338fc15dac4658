// Sample data: typical messages of agents, and invalid ones.

import type { Approval, InputWanted, Item, Notice, Resolved } from "@acpd/client";

const stamp = { seq: 1, threadId: "t", ts: 0 };

export const markdown = `I found two problems in \`crates/store\`, and fixed the first.

## What was wrong

1. The writer held its lock over \`fsync\`:
   \`\`\`rust
   let guard = self.writer.lock().await; // held too long
   guard.sync_all()?;
   \`\`\`
2. A reader could starve. See [the issue](https://github.com/example/acpd/issues/42).

- [x] Split the lock
- [ ] Measure again, with **100** readers

| Readers | Before | After |
|---|--:|--:|
| 1 | 0.4 ms | 0.4 ms |
| 100 | 91 ms | 1.2 ms |

> The log is the truth; everything else is a view of it.

\`\`\`ts
export async function replay(thread: string, after = 0): Promise<number> {
  for await (const event of log.read(thread, after)) apply(event); // no gaps
  return after;
}
\`\`\`

That is all. ![diagram](https://evil.example/pixel.png)
`;

export const hostile = `<script>alert(1)</script> <img src=x onerror=alert(2)> <b style="color:red">bold</b>

[click](javascript:alert(3)) [data](data:text/html,<script>alert(4)</script>) [ok](https://example.com)

<iframe src="https://evil.example"></iframe>
<base href="https://evil.example/">
<form action="https://evil.example"><input name=x><button>Go</button></form>

<svg onload=alert(5)><style>*{display:none}</style></svg>
`;

const item = (itemId: string, rest: object): Item => ({ itemId, outcome: "completed", ...rest }) as unknown as Item;

export const items: Item[] = [
  item("u", {
    type: "userMessage",
    text: "Why does replay stall with many readers?\nLook at crates/store first.",
    content: [
      { type: "text", text: "Why does replay stall with many readers?\nLook at crates/store first." },
      { type: "resource_link", uri: "file:///work/acpd/crates/store/src/writer.rs", name: "writer.rs", size: 8123 },
      { type: "image", mimeType: "image/png", data: "iVBORw0KGgoAAAANSUhEUgAAAGAAAAAwCAIAAABhdOiYAAAAUUlEQVR42u3QQREAAAgDoJnc6FrC5wcRyHRVlQABAgQIECBAgAABAgQIECBAgAABAgQIECBAgAABAgQIECBAgAABAgQIECBAgAABAgQIECDgvwX+kgCjR3OLvwAAAABJRU5ErkJggg==" },
      { type: "resource", resource: { uri: "attachment:///notes.md", mimeType: "text/markdown", text: "# Notes\nStalls began in May." } },
    ],
  }),
  item("th", { type: "agentThought", text: "The user suspects the **store**. I should look at how the writer takes its lock, and who waits for it." }),
  item("read", {
    type: "toolCall", kind: "read", status: "completed", title: "Read writer.rs",
    toolCall: { locations: [{ path: "/work/acpd/crates/store/src/writer.rs", line: 42 }], rawInput: { path: "crates/store/src/writer.rs", limit: 200 } },
  }),
  item("edit", {
    type: "toolCall", kind: "edit", status: "completed", title: "Edit writer.rs",
    toolCall: {
      locations: [{ path: "/work/acpd/crates/store/src/writer.rs", line: 44 }],
      content: [{
        type: "diff", path: "/work/acpd/crates/store/src/writer.rs",
        oldText: "use tokio::sync::Mutex;\n\nimpl Writer {\n    pub async fn append(&self, batch: Batch) -> Result<Seq> {\n        let mut guard = self.inner.lock().await;\n        guard.write(&batch)?;\n        guard.sync_all()?;\n        Ok(guard.seq())\n    }\n}\n",
        newText: "use tokio::sync::Mutex;\n\nimpl Writer {\n    pub async fn append(&self, batch: Batch) -> Result<Seq> {\n        let (seq, file) = {\n            let mut guard = self.inner.lock().await;\n            guard.write(&batch)?;\n            (guard.seq(), guard.file())\n        };\n        file.sync_data()?;\n        Ok(seq)\n    }\n}\n",
      }],
    },
  }),
  item("run", {
    type: "toolCall", kind: "execute", status: "in_progress", outcome: null, title: "cargo nextest run -p acpd-store",
    toolCall: { rawInput: { command: "cargo nextest run -p acpd-store" }, content: [{ type: "terminal", terminalId: "term-1" }] },
  }),
  item("failed", {
    type: "toolCall", kind: "fetch", status: "failed", outcome: "failed", title: "Fetch https://docs.rs/rusqlite",
    toolCall: { rawOutput: { error: "403 Forbidden", retry: false } },
  }),
  item("cmd", {
    type: "terminalCommand", terminalId: "term-2", command: "npm", args: ["test", "--", "--run it"], cwd: "/work/acpd/web", exitCode: 1, truncated: true,
    output: "\u001b[1m\u001b[46m RUN \u001b[49m\u001b[22m v4.1.12\r\n\r\n \u001b[32m✓\u001b[39m src/fold.test.ts \u001b[2m(12 tests)\u001b[22m \u001b[33m45ms\u001b[39m\r\n \u001b[31m❯\u001b[39m src/rows.test.ts \u001b[2m(3 tests | \u001b[22m\u001b[31m1 failed\u001b[39m\u001b[2m)\u001b[22m\r\n   \u001b[41m\u001b[1m FAIL \u001b[22m\u001b[49m keeps rows\r\n\u001b[38;5;208mAssertionError\u001b[0m: expected \u001b[38;2;120;200;80m1\u001b[0m to be 2\r\n\u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007 \u001b]0;title\u0007 file\u202Etxt.exe\r\n",
  }),
  item("file", {
    type: "fileChange", path: "/work/acpd/README.md", replaced: "text",
    diff: "--- a/README.md\n+++ b/README.md\n@@ -1,5 +1,6 @@ Title\n # acpd\n \n-A daemon for agents.\n+A daemon between agents and their clients.\n+It keeps everything.\n \n ## Install\n",
  }),
  item("bidi", {
    type: "fileChange", path: "/work/acpd/invoice\u202Efdp.exe", outcome: "failed", replaced: "nothing", diff: "",
  }),
  item("what", { type: "hologram", beams: 3 }),
  item("a", { type: "agentMessage", text: markdown }),
];

export const terminal = item("t1", {
  type: "terminalCommand", terminalId: "term-1", command: "cargo", args: ["nextest", "run", "-p", "acpd-store"], outcome: null,
  output: "\u001b[1m\u001b[32m   Compiling\u001b[0m acpd-store v0.1.0\r\n\u001b[1m\u001b[32m    Finished\u001b[0m `test` profile in 12.31s\r\n\u001b[32;1m        PASS\u001b[0m [   0.041s] \u001b[35macpd-store\u001b[0m \u001b[36mwriter\u001b[0m\u001b[36m::\u001b[0m\u001b[34;1mone_fsync_a_group\u001b[0m\r\n",
});

export const approval: Approval = {
  ...stamp, requestId: "q1", itemId: "i1", title: "Update the remote branch",
  subjects: [{ type: "commandLine", line: "git push --force origin main", cwd: "/work/acpd" }],
  reason: "The branch was rebased; the remote has the old commits.",
  options: [
    { optionId: "once", name: "Allow once", kind: "allow_once" },
    { optionId: "always", name: "Always allow git push", kind: "allow_always" },
    { optionId: "no", name: "Reject", kind: "reject_once" },
    { optionId: "never", name: "Never allow", kind: "reject_always" },
  ],
};

export const change: Approval = {
  ...approval, requestId: "q2", title: "Write src/lib.rs", reason: null,
  subjects: [{
    type: "file", access: "edit", path: "/work/acpd/src/lib.rs",
    diff: "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,3 +1,4 @@\n pub mod log;\n-pub mod old;\n+pub mod new;\n+pub mod newer;\n pub mod text;\n",
  }],
};

export const resolved: Resolved = {
  ...stamp, requestId: "q0", outcome: "accepted", optionId: "always", by: { kind: "client", client: "acpd-cli", principal: "mara" },
};

export const form: InputWanted = {
  ...stamp, requestId: "q3", title: "How is the release to be made?", mode: "form",
  schema: {
    type: "object", required: ["name", "channel"],
    properties: {
      name: { type: "string", title: "Version", minLength: 1, pattern: "^\\d+\\.\\d+\\.\\d+$", description: "Three numbers" },
      channel: { type: "string", title: "Channel", oneOf: [{ const: "s", title: "Stable" }, { const: "b", title: "Beta" }] },
      retries: { type: "integer", title: "Retries", minimum: 0, maximum: 5, default: 2 },
      sign: { type: "boolean", title: "Sign the binaries", default: true },
      targets: { type: "array", title: "Targets", minItems: 1, items: { type: "string", enum: ["linux", "macos", "windows"] }, default: ["linux"] },
      mail: { type: "string", format: "email", title: "Tell whom" },
    },
  },
};

export const address: InputWanted = {
  ...stamp, requestId: "q4", title: "Sign in to the tracker", mode: "url", url: "http://github.com@login.evil.example:8443/oauth?client=1&state=abc",
};

export const notices: Notice[] = [
  { ...stamp, seq: 1, code: "agentLost", level: "error", message: "The agent's process is gone: it was killed by SIGSEGV.", detail: "thread 'main' panicked\nnote: run with RUST_BACKTRACE=1" },
  { ...stamp, seq: 2, code: "agentForgot", level: "warning", message: "The agent remembers nothing of this thread; it is told the conversation with the next prompt." },
  { ...stamp, seq: 3, code: "callRefused", level: "info", message: "fs/write_text_file was refused.", by: { kind: "policy", rule: "deny: Write(/etc/**)" } },
];

export const options = [
  { id: "model", name: "Model", category: "model", type: "select", currentValue: "large", options: [{ value: "large", name: "Large 5", description: "For hard problems" }, { value: "small", name: "Small 5", description: "Quick and cheap" }] },
  { id: "effort", name: "Effort", category: "thought_level", type: "select", currentValue: "high", options: [{ group: "g", name: "Thinking", options: [{ value: "low", name: "Low" }, { value: "high", name: "High" }] }] },
  { id: "web", name: "Web search", type: "boolean", currentValue: true },
];

export const modes = [
  { value: "ask", name: "Ask", description: "Asks before anything changes" },
  { value: "code", name: "Code", description: "Writes and runs by itself" },
  { value: "architect", name: "Architect", description: "Plans, and writes no code" },
];

export const plan = [
  { content: "Analyze project structure", status: "completed", priority: "medium" },
  { content: "Implement file handler", status: "in_progress", priority: "high" },
  { content: "Add unit tests", status: "pending", priority: "medium" },
  { content: "Update documentation", status: "pending", priority: "low" },
];
