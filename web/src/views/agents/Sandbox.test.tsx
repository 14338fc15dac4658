import type { AgentSandbox } from "@acpd/client";
import { expect, test } from "vitest";

import { drawn } from "../testing.ts";
import { Sandbox } from "./Sandbox.tsx";

const sandbox: AgentSandbox = {
  mode: "workspace",
  reason: null,
  read: ["/usr", "/etc\u202E"],
  write: ["/home/u/.claude"],
  network: "on",
  gaps: [],
  closed: [],
  missing: [],
};

function rows(shown: AgentSandbox): (string | null)[][] {
  return drawn(<Sandbox {...shown} />)
    .all("dl > div")
    .map((row) => [...row.children].map((part) => part.textContent));
}

test("a sandbox says what it grants and by which setting, with long lists in folds", () => {
  const view = drawn(<Sandbox {...sandbox} />);
  expect(rows(sandbox)).toEqual([
    ["Sandbox", "workspace: the agent can write the workspace"],
    ["Writes", "1 other path sandbox.write/home/u/.claude"],
    ["Reads", "2 other paths sandbox.read/usr\n/etc⟨U+202E⟩"],
    ["TCP", "all connections sandbox.network"],
  ]);
  expect(view.all("details").map((fold) => fold.hasAttribute("open"))).toEqual([false, false]);
});

test("one that only reads, with ports, gaps of the kernel and paths that are not there", () => {
  const shown = { ...sandbox, mode: "readonly", write: [], network: "443, 8080", gaps: ["ioctl on devices"], closed: ["/tmp"], missing: ["~/x"] };
  expect(rows(shown)).toEqual([
    ["Sandbox", "readonly: the agent can only read the workspace"],
    ["Writes", "nothing else sandbox.write"],
    ["Reads", "2 other paths sandbox.read/usr\n/etc⟨U+202E⟩"],
    ["TCP", "ports 443, 8080 sandbox.network"],
    ["Not enforced", "This kernel does not enforce: ioctl on devices"],
    [
      "No new files",
      "acpd’s own files are in these directories, so agents cannot make new files directly in them: /tmp. Move the data directory and the configuration elsewhere.",
    ],
    ["Missing", "These paths of the configuration do not exist: ~/x"],
  ]);
});

test("where there is none, it says why and lists nothing", () => {
  const off = { ...sandbox, mode: "off", reason: "this system has no Landlock", read: [], write: [] };
  const said = "off: the agent can use every file that the daemon’s user can";
  expect(rows(off)).toEqual([["Sandbox", `${said}this system has no Landlock`]]);
  expect(rows({ ...off, reason: null })).toEqual([["Sandbox", said]]);
});

test("that the home directory cannot be a workspace is said of that directory alone", () => {
  const reason = "the workspace /home/u contains /home/u/.local/share/acpd";
  const [first] = rows({ ...sandbox, reason });
  expect(first).toEqual(["Sandbox", `workspace: the agent can write the workspaceIn the home directory: ${reason}`]);
});
