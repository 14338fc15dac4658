// Names from agents and other users, in every view that draws them in a line. A view that shows one as it came fails here.

import type { Client, ThreadSummary } from "@acpd/client";
import type { ComponentType } from "preact";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { agents } from "../app/agents.ts";
import { away } from "../app/away.ts";
import { over } from "../app/layout.ts";
import { query } from "../app/search.ts";
import { filter, threads } from "../app/threads.ts";
import { client, link, standing } from "../connection/connection.ts";
import Agents from "./agents/Agents.tsx";
import Installed from "./agents/Installed.tsx";
import Archive from "./archive/Archive.tsx";
import AwayCard from "./home/AwayCard.tsx";
import MoreOptions, { type MoreOptionsProps } from "./home/MoreOptions.tsx";
import NewThread from "./home/NewThread.tsx";
import Setup from "./home/Setup.tsx";
import Palette from "./palette/Palette.tsx";
import { Opening } from "./pane/Opening.tsx";
import { OfAgents } from "./policy/OfAgents.tsx";
import Policy from "./policy/Policy.tsx";
import Settings from "./settings/Settings.tsx";
import ShareDialog from "./share/ShareDialog.tsx";
import FilterPanel from "./sidebar/FilterPanel.tsx";
import { Filters } from "./sidebar/Filters.tsx";
import Found from "./sidebar/SearchResults.tsx";
import { ThreadSections } from "./sidebar/ThreadSections.tsx";
import { after, drawn } from "./testing.ts";
import { ConfigOptions } from "./thread/composer/Options.tsx";
import { Plan } from "./thread/content/Plan.tsx";

// The tests' DOM lacks it.
vi.hoisted(() => Object.assign(globalThis, { isSecureContext: false }));

/** A name that turns around what follows, hides a part, and begins another line. */
const EVIL = "pay\u202Epal\u200B\u0007\u2028x";
/** What a reader must not meet. */
const UNSEEN = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u200B\u2028-\u202E]/;
/** The attributes that users read or hear. */
const SPOKEN = ["aria-label", "title", "placeholder", "alt", "label"];

const thread = (id: string): ThreadSummary => ({
  id, name: EVIL, agentType: EVIL, archived: false, createdAt: 1, cwd: `/w/${EVIL}`, status: "idle", turnCount: 1, updatedAt: Date.now() + 1e6,
});
const agent = { id: EVIL, title: EVIL, installed: true, isSetUp: true, isDefault: true, source: "config" } as const;
const other = { ...agent, id: `other ${EVIL}`, installed: false, isSetUp: false, isDefault: false, installsBy: "npx" as const };
const option = { id: "o", name: EVIL, currentValue: "v", options: [{ value: "v", name: EVIL }] };

const ANSWERS: Record<string, unknown> = {
  "thread/seen/set": { since: 0 },
  "user/present": { away: null },
  "thread/list": { data: [thread("one")] },
  "thread/search": { data: [{ threadId: "one", name: EVIL, seq: 1, ts: 1, kind: "agentMessage", snippet: [{ text: "pal", hit: true }, { text: EVIL.slice(0, 5), hit: false }] }] },
  "thread/read": { thread: { ...thread("one"), turns: [] } },
  "thread/share/list": { data: [{ id: "s", name: EVIL, createdBy: EVIL, createdAt: 1, expiresAt: 2, threadId: "one" }] },
  "agent/list": { data: [agent, other] },
  "policy/read": { agent: { deny: [EVIL] }, daemon: { base: "standard" } },
  "folder/list": { path: "/w", host: EVIL, home: "/w", folders: [{ name: EVIL, repository: false }], truncated: false },
};

beforeEach(async () => {
  client.value = {
    state: { name: "open" },
    call: async (method: string) => ANSWERS[method] ?? { data: [] },
    on: () => () => {},
    onState: () => () => {},
  } as unknown as Client;
  link.value = { name: "open", server: { serverInfo: { name: "acpd", version: "1" } } } as unknown as typeof link.value;
  standing.value = { name: "in", session: { principal: EVIL, role: "owner" } };
  await vi.waitFor(() => expect(threads.value).toHaveLength(1));
  await vi.waitFor(() => expect(agents.value).toHaveLength(2));
});
afterEach(() => {
  client.value = undefined;
  link.value = { name: "connecting" };
  filter.value = {};
  query.value = "";
  away.value = undefined;
  over.value = undefined;
});

const options: MoreOptionsProps = {
  value: { name: "", mode: "", policy: "", config: {}, systemPrompt: "" },
  onChange: () => {},
  onUnfold: () => {},
  settings: { configOptions: [option], modes: { availableModes: [{ id: "m", name: EVIL }], currentModeId: "m" } },
  owner: true,
};
const nothing = () => {};

/** The views that show names, by what they are. */
const VIEWS: Record<string, ComponentType> = {
  agents: Agents,
  archive: Archive,
  away: AwayCard,
  filters: FilterPanel,
  chips: Filters,
  found: Found,
  installed: () => <Installed agent={agents.value![0]!} />,
  list: ThreadSections,
  "more options": () => <MoreOptions {...options} />,
  "new thread": () => <NewThread agent={EVIL} />,
  opening: () => <Opening threadId="one" />,
  options: () => <ConfigOptions options={[option]} onSet={nothing} />,
  palette: Palette,
  plan: () => <Plan entries={[{ content: EVIL, priority: "medium", status: "in_progress" }]} />,
  policies: () => <Policy threadId={undefined} />,
  policy: () => <Policy threadId="one" />,
  "policies of agents": OfAgents,
  settings: Settings,
  setup: () => <Setup error={undefined} />,
  share: () => <ShareDialog thread={thread("one")} onClose={nothing} />,
};

/** Returns all that users read or hear of a view. */
function wordsIn(place: HTMLElement): string {
  const spoken = [...place.querySelectorAll("*")].flatMap((one) => SPOKEN.map((name) => one.getAttribute(name) ?? ""));
  return [place.textContent, ...spoken].join(" ").replace(/ +/g, " ");
}

test.each(Object.entries(VIEWS))("names hide nothing: %s", async (_, View) => {
  filter.value = { cwd: `/w/${EVIL}`, agentType: EVIL };
  away.value = { since: 1, until: Number.MAX_SAFE_INTEGER };
  query.value = "pal";
  const view = drawn(<View />);
  await vi.waitFor(() => expect(wordsIn(view.place)).toMatch(/⟨U\+202E⟩/));
  await after(() => view.place.querySelectorAll("details").forEach((one) => (one.open = true)));
  expect(UNSEEN.exec(wordsIn(view.place))?.input).toBeUndefined();
});

/** Files that need a thread's name as it is. */
const RAW = ["./sidebar/ThreadDialogs.tsx"];

test("a thread's name comes from `nameOf`", () => {
  const sources = import.meta.glob<string>(["./**/*.tsx", "../app/*.ts"], { query: "?raw", import: "default", eager: true });
  const found = Object.entries(sources).filter(([file, text]) => !file.includes(".test.") && /\b(?:thread|head|known|summary|listed)\.name\b/.test(text));
  expect(found.map(([file]) => file)).toEqual(RAW);
});
