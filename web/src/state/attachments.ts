/** Files that the daemon has stored for a thread's agent, because a message had no room for them. Prompts link to them. Pure. */

import { type AcpObject, text } from "./acp.ts";

/** Their addresses, with the thread. */
const STORED = /^file:\/\/.*\/attachments\/([0-9a-f-]{36})\/[0-9a-f]{32}\/[^/]+$/;

/** Returns the thread for which the linked file is stored; `undefined` if a block links to no stored file. */
export function storedFor({ type, uri }: AcpObject): string | undefined {
  return type === "resource_link" ? STORED.exec(text(uri) ?? "")?.[1] : undefined;
}

/** Returns whether a block links to a file that is stored for another thread: the daemon refuses it in one that has no turn with it. */
export function isStoredElsewhere(block: AcpObject, threadId: string): boolean {
  const owner = storedFor(block);
  return owner !== undefined && owner !== threadId;
}
