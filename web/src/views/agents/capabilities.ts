/** Descriptions of an agent's declared capabilities. Unknown capabilities keep the agent's names. */

import { type AcpObject, isObject } from "../../state/acp.ts";

const WORDS: Record<string, string> = {
  loadSession: "load earlier sessions with their history",
  "promptCapabilities.image": "see images",
  "promptCapabilities.audio": "hear audio",
  "promptCapabilities.embeddedContext": "take files within prompts",
  "mcpCapabilities.http": "use MCP servers over HTTP",
  "mcpCapabilities.sse": "use MCP servers over SSE",
  "mcpCapabilities.acp": "use MCP servers over ACP",
  "sessionCapabilities.list": "list its sessions",
  "sessionCapabilities.resume": "resume sessions",
  "sessionCapabilities.fork": "fork sessions",
  "sessionCapabilities.close": "close sessions",
  "sessionCapabilities.delete": "delete sessions",
  "sessionCapabilities.additionalDirectories": "work in further directories",
  "auth.logout": "sign out",
};

/** Groups of capabilities, which mean nothing if they are empty. */
const GROUPS = new Set(["promptCapabilities", "mcpCapabilities", "sessionCapabilities", "auth"]);

export interface Abilities {
  readonly can: readonly string[];
  readonly cannot: readonly string[];
}

/** Splits `agentCapabilities`: the agent lacks members that are false or null, and has all others. */
export function abilities(capabilities: AcpObject | null | undefined): Abilities {
  const can: string[] = [];
  const cannot: string[] = [];
  const look = (at: string, value: unknown): void => {
    if (isObject(value) && Object.keys(value).length > 0) {
      for (const [name, inner] of Object.entries(value)) {
        if (name !== "_meta") {
          look(at === "" ? name : `${at}.${name}`, inner);
        }
      }
    } else if (at !== "" && !GROUPS.has(at)) {
      (value === false || value === null ? cannot : can).push(WORDS[at] ?? at);
    }
  };
  look("", capabilities);
  return { can, cannot };
}
