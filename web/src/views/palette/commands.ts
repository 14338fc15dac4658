/** What the palette offers, and how typed words select from it. */

import { setUpAgents, titleOfAgent } from "../../app/agents.ts";
import { copyConversation, copyLink, exportThread } from "../../app/export.ts";
import { printThread } from "../../app/print.ts";
import { focusWhenThere } from "../../app/focus.ts";
import { over } from "../../app/layout.ts";
import { go } from "../../app/route.ts";
import { theme } from "../../app/theme.ts";
import { archive, byFolder, folderNames, fork, open, pin, threads, unarchive } from "../../app/threads.ts";
import { moving, renaming } from "../../app/renaming.ts";
import { showWaiting } from "../../app/waiting-walk.ts";
import { standing } from "../../connection/connection.ts";
import { nameOf } from "../../state/threads.ts";
import type { IconName } from "../parts/Icon.tsx";

export interface Entry {
  readonly key: string;
  readonly group: "Threads" | "This thread" | "Commands" | "Agents" | "Settings";
  readonly label: string;
  readonly icon: IconName;
  /** The agent whose mark replaces the icon. */
  readonly agentType?: string;
  /** Words beside the label, which are searched too. */
  readonly about?: string;
  readonly run: () => void;
}

const SHOWN = 50;

/** Returns the entries that fit the typed words, best first in each group. */
export function entriesFor(typed: string): Entry[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const all = [...threadEntries(), ...currentEntries(), ...commandEntries(), ...agentEntries(), ...settingEntries()];
  if (words.length === 0) {
    return [...all.filter(({ group }) => group === "Threads").slice(0, 6), ...all.filter(({ group }) => group !== "Threads")];
  }
  const groups = new Map<string, { entry: Entry; score: number }[]>();
  for (const entry of all) {
    const score = fitness(`${entry.label} ${entry.about ?? ""}`.toLowerCase(), words);
    if (score > 0) {
      groups.set(entry.group, [...(groups.get(entry.group) ?? []), { entry, score }]);
    }
  }
  // The group with the best entry comes first, so that Enter does what was meant.
  return [...groups.values()]
    .map((group) => group.sort((one, other) => other.score - one.score))
    .sort((one, other) => other[0]!.score - one[0]!.score)
    .flatMap((group) => group.map(({ entry }) => entry))
    .slice(0, SHOWN);
}

/** Returns how well a text fits words, all of which it must contain; 0 if it does not. */
export function fitness(text: string, words: readonly string[]): number {
  let score = 1;
  for (const word of words) {
    const at = text.indexOf(word);
    if (at < 0) {
      return 0;
    }
    score += at === 0 ? 3 : /[\p{L}\p{N}]/u.test(text[at - 1]!) ? 0 : 2;
  }
  return score;
}

function role(): string {
  const { value: who } = standing;
  return who.name === "in" ? who.session.role : "observer";
}

const mayWork = () => role() === "owner" || role() === "operator";

function threadEntries(): Entry[] {
  return (threads.value ?? []).map((thread) => ({
    key: thread.id,
    group: "Threads",
    label: nameOf(thread),
    icon: thread.live === "waiting" ? "question" : "thread",
    about: `${thread.live === "idle" ? "" : `${thread.live} · `}${titleOfAgent(thread.agentType)} · ${folderNames.value.get(thread.cwd)}`,
    run: () => go({ view: "thread", threadId: thread.id }),
  }));
}

function currentEntries(): Entry[] {
  const thread = open.value;
  const head = thread?.shown.value?.thread.head;
  if (!thread || !head) {
    return [];
  }
  const { threadId } = thread;
  const entry = (label: string, icon: IconName, run: () => void): Entry => ({ key: label, group: "This thread", label, icon, run });
  return [
    ...(mayWork()
      ? [
          ...(head.turnId != null ? [entry("Stop the agent", "stop", () => void thread.interrupt().catch(() => {}))] : []),
          head.pinned === true
            ? entry("Unpin this thread", "unpin", () => void pin(head, false))
            : entry("Pin this thread", "pin", () => void pin(head, true)),
          entry("Rename…", "rename", () => (renaming.value = head)),
          entry("Change folder…", "folder", () => (moving.value = head)),
          entry("Fork", "fork", () => void fork(head)),
          head.archived
            ? entry("Unarchive", "archive", () => void unarchive(threadId))
            : entry("Archive this thread", "archive", () => void archive(head)),
        ]
      : []),
    entry("Copy link", "link", () => void copyLink(threadId)),
    entry("Copy conversation as Markdown", "copy", () => void copyConversation(threadId)),
    entry("Export as Markdown", "download", () => void exportThread(threadId, nameOf(head), "md")),
    entry("Export as HTML", "download", () => void exportThread(threadId, nameOf(head), "html")),
    entry("Export as JSON", "download", () => void exportThread(threadId, nameOf(head), "jsonl")),
    entry("Print", "print", () => void printThread(threadId)),
    entry("Policy and decisions", "shield", () => go({ view: "policy", threadId })),
  ];
}

function commandEntries(): Entry[] {
  const entry = (label: string, icon: IconName, run: () => void): Entry => ({ key: label, group: "Commands", label, icon, run });
  return [
    ...(mayWork() ? [entry("New thread", "plus", () => newThread())] : []),
    entry("Next waiting thread", "question", showWaiting),
    entry("Search all conversations", "search", () => focusWhenThere("#search")),
    entry("Agents", "agents", () => go({ view: "agents" })),
    entry("Policy", "shield", () => go({ view: "policy" })),
    entry("Usage", "bars", () => go({ view: "usage" })),
    entry("Archive", "archive", () => go({ view: "archive" })),
    entry("Keyboard shortcuts", "help", () => (over.value = "shortcuts")),
  ];
}

function agentEntries(): Entry[] {
  return mayWork()
    ? setUpAgents().map(({ id, title }) => ({
        key: `agent ${id}`,
        group: "Agents",
        label: `New thread with ${title}`,
        agentType: id,
        icon: "agents",
        run: () => newThread(id),
      }))
    : [];
}

function newThread(agent?: string): void {
  go({ view: "home", agent });
  focusWhenThere("#prompt");
}

function settingEntries(): Entry[] {
  const entry = (label: string, run: () => void): Entry => ({ key: label, group: "Settings", label, icon: "settings", run });
  return [
    entry("Settings", () => (over.value = "settings")),
    ...(["system", "light", "dark"] as const).map((name) => entry(`Appearance: ${name[0]!.toUpperCase()}${name.slice(1)}`, () => (theme.value = name))),
    entry(byFolder.value ? "Group threads by time" : "Group threads by folder", () => (byFolder.value = !byFolder.value)),
  ];
}
