/** Where a thread works: the agent's title, and the folder's name, which differs from other folders' names. */

import { titleOfAgent } from "../../app/agents.ts";
import { folderNames } from "../../app/threads.ts";
import { folderOf } from "../../state/threads.ts";
import { visibleLine } from "../../text/bidi-guard.ts";

export function ThreadPlace({ agentType, cwd }: { agentType: string; cwd: string }) {
  return (
    <span>
      {titleOfAgent(agentType)} · <bdi title={visibleLine(cwd)}>{folderNames.value.get(cwd) ?? folderOf(cwd)}</bdi>
    </span>
  );
}
