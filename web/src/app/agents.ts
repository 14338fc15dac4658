/** The daemon's agents, and the settings of them that the page remembers. */

import type { AcpObject, Agent, Client } from "@acpd/client";
import { effect, signal } from "@preact/signals";

import { client, online, sentence } from "../connection/connection.ts";
import { type PromptCapabilities, promptCapabilitiesOf } from "../state/acp.ts";
import { isRecord, isTexts, stored } from "../state/stored.ts";
import { open } from "./threads.ts";

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
export const lastAgent = stored<string>("agent", "", (value) => typeof value === "string");

/** Returns an agent's display name. */
export function titleOfAgent(id: string): string {
  return agents.value?.find((agent) => agent.id === id)?.title ?? id;
}

export async function lookForAgents(): Promise<void> {
  try {
    const found = await client.peek()?.call("agent/list");
    if (found) {
      agents.value = found.data;
      agentsError.value = undefined;
    }
  } catch (error) {
    agentsError.value = sentence(error);
  }
}

effect(() => {
  if (online.value) {
    void lookForAgents();
  }
});

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
