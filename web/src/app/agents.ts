/** The daemon's agents, and the settings of them that the page remembers. */

import type { AcpObject, Agent, Client } from "@acpd/client";
import { computed, effect, signal } from "@preact/signals";

import { client, onLeave, online, sentence, shared } from "../connection/connection.ts";
import { type PromptCapabilities, promptCapabilitiesOf } from "../state/acp.ts";
import { isRecord, isTexts, stored } from "../state/stored.ts";
import { visibleName } from "../text/bidi-guard.ts";
import { open } from "./threads.ts";

/** All agents, with titles that may be shown. */
export const agents = signal<readonly Agent[] | undefined>(undefined);
export const agentsError = signal<string | undefined>(undefined);

/** The possible settings of an agent's threads, as last seen: agents report them only while they run. */
export interface Settings {
  readonly modes?: AcpObject | null;
  readonly configOptions?: readonly AcpObject[] | null;
  /** The supported contents of a prompt; absent if unknown. */
  readonly prompt?: PromptCapabilities;
}
export const settingsOf = stored<Record<string, Settings>>("settings", {}, isRecord);
/** Returns the possible settings of an agent's newest thread, for browsers that have not opened one yet. */
export async function newestSettings(now: Client, agentType: string): Promise<Settings | undefined> {
  const { data } = await now.call("thread/list", { agentType, limit: 1 });
  if (data[0] === undefined) {
    return undefined;
  }
  const { thread } = await now.call("thread/read", { threadId: data[0].id });
  return { modes: thread.modes, configOptions: thread.configOptions };
}
/** Working directories of started threads, latest first. */
export const folders = stored<string[]>("folders", [], isTexts);
/** Maximum number of folders that are stored. */
const STORED = 12;

/** Stores a folder as the latest one. */
export function rememberFolder(path: string): void {
  folders.value = [path, ...folders.peek().filter((one) => one !== path)].slice(0, STORED);
}

/** The folder that the form for a new thread begins with the next time, whatever the user has set. */
export const nextFolder = signal<string | undefined>(undefined);
onLeave(async () => {
  nextFolder.value = undefined;
});

/** The folder of new threads that the user has set; empty for the latest one. */
export const defaultFolder = stored<string>("default-folder", "", (value) => typeof value === "string");
/** The agent that this page has installed since it was loaded, until it is used or another one is installed. */
export const justInstalled = signal<string | undefined>(undefined);
export const lastAgent = stored<string>("agent", "", (value) => typeof value === "string");

/** Returns the agents that a form offers to start at once, best first: the daemon decides the order. */
export function setUpAgents(): readonly Agent[] {
  return (agents.value ?? []).filter(({ isSetUp }) => isSetUp);
}

/** Returns the agents that the daemon would download before it starts them. */
export function downloadedAgents(): readonly Agent[] {
  return (agents.value ?? []).filter(({ isSetUp, installed }) => installed && !isSetUp);
}

/** Returns an agent's display name, as all views show it. */
export function titleOfAgent(id: string): string {
  return visibleName(agents.value?.find((agent) => agent.id === id)?.title ?? id);
}

export async function lookForAgents(): Promise<void> {
  try {
    const found = await client.peek()?.call("agent/list");
    if (found) {
      agents.value = found.data.map((agent) => ({ ...agent, title: visibleName(agent.title) }));
      agentsError.value = undefined;
    }
  } catch (error) {
    agentsError.value = sentence(error);
  }
}

effect(() => {
  // A link to a thread does not reach the list of agents.
  if (online.value && shared.peek() === undefined) {
    void lookForAgents();
  }
});

/** Why the last installation of an agent failed. */
export const installErrors = signal<Readonly<Record<string, string>>>({});
/** The agents whose installation this page has requested, and that the list may not show yet. */
const requested = signal<ReadonlySet<string>>(new Set());

/** Returns whether an agent is being installed, by any client. */
export function isInstalling({ id, installing }: Agent): boolean {
  return installing != null || requested.value.has(id);
}

/** Installs an agent, or its newest version. Returns whether it succeeded. */
export async function installAgent(agentType: string): Promise<boolean> {
  const { [agentType]: _, ...others } = installErrors.peek();
  installErrors.value = others;
  requested.value = new Set([...requested.peek(), agentType]);
  try {
    const now = client.peek();
    if (!now) {
      throw new Error("there is no connection");
    }
    await now.call("agent/install", { agentType });
    return true;
  } catch (error) {
    installErrors.value = { ...installErrors.peek(), [agentType]: sentence(error) };
    return false;
  } finally {
    await lookForAgents();
    requested.value = new Set([...requested.peek()].filter((one) => one !== agentType));
  }
}

/** Time between two looks at the progress of installations, in milliseconds. */
const PROGRESS_MS = 1_000;

const isBusy = computed(
  () => online.value && (requested.value.size > 0 || (agents.value ?? []).some(({ installing }) => installing != null)),
);
effect(() => {
  const timer = isBusy.value ? setInterval(() => void lookForAgents(), PROGRESS_MS) : undefined;
  return () => clearInterval(timer);
});

/** The agents that last refused to open a session because nobody was signed in. */
export const signedOut = signal<ReadonlySet<string>>(new Set());

export function noteSignIn(agentType: string, isSignedIn: boolean): void {
  if (signedOut.peek().has(agentType) === isSignedIn) {
    const others = [...signedOut.peek()].filter((one) => one !== agentType);
    signedOut.value = new Set(isSignedIn ? others : [...others, agentType]);
  }
}

let noted: unknown;
effect(() => {
  const thread = open.value?.shown.value?.thread;
  const { modes, configOptions, agentType } = thread?.head ?? {};
  const initialize = thread?.initialize;
  const now = initialize ?? configOptions ?? modes;
  if (agentType && now && now !== noted) {
    noted = now;
    const prompt = initialize === undefined ? settingsOf.peek()[agentType]?.prompt : promptCapabilitiesOf(initialize);
    settingsOf.value = { ...settingsOf.peek(), [agentType]: { modes, configOptions, ...(prompt && { prompt }) } };
  }
});
