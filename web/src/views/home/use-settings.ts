/**
 * The possible settings of an agent's threads: those that this browser remembers, those of the newest thread, or those that the agent
 * says before there is a thread.
 */

import type { AcpObject, Client } from "@acpd/client";
import { useEffect, useState } from "preact/hooks";

import { newestSettings, type Settings, settingsOf } from "../../app/agents.ts";
import { listFolders } from "../../app/folders.ts";
import { client, online } from "../../connection/connection.ts";

interface Found {
  readonly agent: string;
  readonly settings?: Settings;
}

/** `folder` is that of the new thread, once the user wants to see the settings: only then is the agent started for them. */
export function useSettings(agent: string | undefined, folder: string | undefined): Settings | undefined {
  const remembered = agent === undefined ? undefined : settingsOf.value[agent];
  const [found, setFound] = useState<Found>();
  const [early, setEarly] = useState<Found>();
  // Then the thread starts with the agent's defaults.
  const nothing = () => {};
  useEffect(() => {
    const now = client.peek();
    if (agent === undefined || remembered !== undefined || !now || !online.value) {
      return;
    }
    let over = false;
    newestSettings(now, agent).then((settings) => !over && setFound({ agent, settings }), nothing);
    return () => void (over = true);
  }, [agent, remembered === undefined, online.value]);
  const isNew = remembered === undefined && found !== undefined && found.agent === agent && found.settings === undefined;
  const asks = isNew && folder !== undefined;
  useEffect(() => {
    const now = client.peek();
    if (!asks || agent === undefined || !now || !online.value) {
      return;
    }
    let over = false;
    settingsBefore(now, agent, folder).then((settings) => !over && setEarly({ agent, settings }), nothing);
    return () => void (over = true);
    // While the user types another folder, the settings are still those of the one that they began with.
  }, [agent, asks, online.value]);
  const own = (one: Found | undefined) => (one?.agent === agent ? one?.settings : undefined);
  return remembered ?? own(found) ?? own(early);
}

/** Returns the settings with which a session of an agent would begin in a folder. Rejects if the agent cannot say them. */
async function settingsBefore(now: Client, agentType: string, folder: string): Promise<Settings> {
  const { path } = await listFolders(folder);
  const { result } = await now.call("agent/options", { agentType, cwd: path });
  const { modes, configOptions } = result as { modes?: AcpObject | null; configOptions?: unknown };
  return { modes, configOptions: Array.isArray(configOptions) ? (configOptions as AcpObject[]) : undefined };
}
