/** The demo agent, which needs no account: the daemon lists it beside real agents. */

import type { Agent, Client } from "@acpd/client";

import { newId } from "../connection/new-id.ts";
import { createFolder, listFolders } from "./folders.ts";
import { startThread } from "./start-thread.ts";

/** The id of the demo agent. */
export const DEMO = "demo";
const PROMPT = "Show me what you can do";
/** Its folder: what it shows changes files. The demo agent makes no further one in a folder of this name. */
export const DEMO_FOLDER = "~/acpd-demo";

/** Returns whether one of the agents is the demo, and can be started. */
export function hasDemo(agents: readonly Agent[] | undefined): boolean {
  return agents?.some(({ id, installed }) => id === DEMO && installed) ?? false;
}

/** Starts a thread of the demo agent in a folder of its own; returns the thread's id. */
export async function startDemo(now: Client): Promise<string> {
  const cwd = await listFolders(DEMO_FOLDER).then(
    ({ path }) => path,
    () => createFolder(DEMO_FOLDER),
  );
  return startThread(now, { agentType: DEMO, cwd, text: PROMPT, clientTurnId: newId() });
}
