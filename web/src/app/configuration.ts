/** What the owner can change in the daemon's configuration file from this page. The daemon applies it at once. */

import type { Agent } from "@acpd/client";

import { lookForAgents } from "./agents.ts";
import { attempt } from "./threads.ts";
import { toast } from "./toasts.ts";

/** Makes an agent the one of clients that name none. */
export async function makeDefault({ id: agentType, title }: Pick<Agent, "id" | "title">): Promise<void> {
  if (await attempt("Couldn’t change the default agent", (now) => now.call("config/agent/set", { agentType }))) {
    toast(`${title} is the default agent`);
    await lookForAgents();
  }
}

/** Sets the preset of all agents; `null` removes their policy. Returns whether it succeeded. */
export async function setGlobalPreset(preset: string | null): Promise<boolean> {
  const isSet = await attempt("Couldn’t change the global policy", (now) => now.call("config/policy/set", { preset }));
  if (isSet) {
    toast(preset === null ? "Removed the global policy" : `The global policy is now ${preset}`);
  }
  return isSet;
}
