/** Where a thread works: the agent with its mark, and the folder's name, which differs from other folders' names. */

import { titleOfAgent } from "../../app/agents.ts";
import { folderNames } from "../../app/threads.ts";
import { folderOf } from "../../state/threads.ts";
import { visibleLine } from "../../text/bidi-guard.ts";
import { AgentGlyph } from "./AgentGlyph.tsx";

/** With `brief`, the mark alone shows the agent, so that the folder has the room. */
export function ThreadPlace({ agentType, cwd, brief = false }: { agentType: string; cwd: string; brief?: boolean }) {
  return (
    <span>
      <AgentGlyph agentType={agentType} />
      <span class={brief ? "sr-only" : undefined}>{titleOfAgent(agentType)} · </span>
      <bdi title={visibleLine(cwd)}>{folderNames.value.get(cwd) ?? folderOf(cwd)}</bdi>
    </span>
  );
}
