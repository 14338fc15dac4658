/** What an agent says it can do, in words. What nobody here has words for is called as the agent calls it. */

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

/** Names under which there may be nothing, which says nothing. */
const GROUPS = new Set(["promptCapabilities", "mcpCapabilities", "sessionCapabilities", "auth"]);

export interface Abilities {
  readonly can: readonly string[];
  readonly cannot: readonly string[];
}

/** Of the members of `agentCapabilities`, what is false or null it cannot do, and all else it can. */
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
