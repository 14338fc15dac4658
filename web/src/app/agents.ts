/** The agents that the daemon knows, and what is remembered of them between threads. */

import type { AcpObject, Agent } from "@acpd/client";
import { effect, signal } from "@preact/signals";

import { client, online, sentence } from "../connection/connection.ts";
import { isRecord, isTexts, stored } from "../state/stored.ts";
import { open } from "./threads.ts";

export const agents = signal<readonly Agent[] | undefined>(undefined);
export const agentsError = signal<string | undefined>(undefined);

/** What a thread of this agent could be set to when one was last looked at: agents say so only once they run. */
export interface Settings {
  readonly modes?: AcpObject | null;
  readonly configOptions?: readonly AcpObject[] | null;
}
export const settingsOf = stored<Record<string, Settings>>("settings", {}, isRecord);
/** Folders that threads were started in, the latest first. */
export const folders = stored<string[]>("folders", [], isTexts);
export const lastAgent = stored<string>("agent", "", (value) => typeof value === "string");

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
  const head = open.value?.shown.value?.thread.head;
  const { modes, configOptions, agentType } = head ?? {};
  const now = configOptions ?? modes;
  if (agentType && now && now !== noted) {
    noted = now;
    settingsOf.value = { ...settingsOf.peek(), [agentType]: { modes, configOptions } };
  }
});
