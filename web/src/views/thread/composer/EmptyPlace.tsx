/** The agent and the folder of a thread without turns, as chips in the bar of its message box: both can still be changed. */

import { nextFolder, rememberFolder, titleOfAgent } from "../../../app/agents.ts";
import { draftOf, keepDraft, NEW_THREAD } from "../../../app/drafts.ts";
import { moving } from "../../../app/renaming.ts";
import { go } from "../../../app/route.ts";
import { folderNames } from "../../../app/threads.ts";
import { folderOf } from "../../../state/threads.ts";
import { visibleLine } from "../../../text/bidi-guard.ts";
import { AgentGlyph } from "../../parts/AgentGlyph.tsx";
import { Icon } from "../content/Icon.tsx";
import { isSending } from "./sending.ts";
import { hasAttachments, hasLater, moveAttachments } from "./use-attachments.ts";

export interface EmptyPlaceProps {
  threadId: string;
  agentType: string;
  cwd: string;
  disabled: boolean;
}

export default function EmptyPlace({ threadId: id, agentType, cwd, disabled }: EmptyPlaceProps) {
  const agent = titleOfAgent(agentType);
  // The message on its way begins the first turn here: elsewhere it would be sent a second time.
  const isOff = disabled || isSending(id);
  /** A thread keeps its agent, so another one has a thread of its own, in the same folder. */
  const startAnother = () => {
    rememberFolder(cwd);
    nextFolder.value = cwd;
    // Not over a prompt that waits there, or is on its way.
    const isFree = draftOf(NEW_THREAD).trim() === "" && !hasAttachments(NEW_THREAD) && !hasLater(NEW_THREAD) && !isSending(NEW_THREAD);
    if (isFree) {
      keepDraft(NEW_THREAD, draftOf(id));
      keepDraft(id, "");
      moveAttachments(id, NEW_THREAD, NEW_THREAD);
    }
    go({ view: "home" });
  };
  return (
    <>
      <button
        type="button"
        class="th-picker-button"
        aria-label={`Agent: ${agent}`}
        title="Start a thread with another agent"
        disabled={isOff}
        onClick={startAnother}
      >
        <AgentGlyph agentType={agentType} />
        <span class="truncate">{agent}</span>
      </button>
      <button
        type="button"
        class="th-picker-button"
        aria-label={`Folder: ${visibleLine(cwd)}`}
        title={`Change the folder: ${visibleLine(cwd)}`}
        disabled={isOff}
        onClick={() => (moving.value = { id, cwd })}
      >
        <Icon name="folder" />
        <bdi class="truncate">{folderNames.value.get(cwd) ?? folderOf(cwd)}</bdi>
      </button>
    </>
  );
}
