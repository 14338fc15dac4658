// The composer of one thread: the box, with the thread's mode and options, its usage, and its draft.

import type { AcpObject } from "@acpd/client";
import { useMemo, useRef, useState } from "preact/hooks";

import type { ThreadViewProps } from "../../thread-props.ts";
import { commandsOf, configOption, modesOf, type PromptCapabilities, steers, text } from "../../../state/acp.ts";
import { promptsOf } from "../../../state/prompts.ts";
import { ComposerBox } from "./ComposerBox.tsx";
import { ConfigOptions, ModeSelect } from "./Options.tsx";
import { draftOf, keepDraft } from "../../../app/drafts.ts";
import { sendKey } from "../content/settings.ts";
import { UsageMeter } from "./UsageMeter.tsx";

export interface ComposerProps extends ThreadViewProps {
  /** The prompt capabilities that the agent declared; without them, the daemon decides. */
  readonly promptCapabilities?: PromptCapabilities;
}

export function Composer(props: ComposerProps) {
  // Each thread has its own composer: attachments must not move to another thread.
  return <Written key={props.thread.threadId} {...props} />;
}

function Written({ thread, actions, role, online, promptCapabilities }: ComposerProps) {
  const { head, threadId } = thread;
  const [refused, setRefused] = useState<string>();
  const commands = useMemo(() => commandsOf(head.availableCommandsUpdate), [head.availableCommandsUpdate]);
  const turns = useRef(thread.turns);
  turns.current = thread.turns;
  const running = head.turnId != null;
  const interrupting = thread.turns.some((turn) => turn.id === head.turnId && turn.interrupting === true);
  const why = barred(online, head.archived, thread.deleted === true);
  if (role === "observer" || role === "approver") return null;

  // If the agent refuses, the value stays unchanged and the reason appears next to it.
  const set = (asked: Promise<void>) => {
    setRefused(undefined);
    asked.catch((problem: unknown) => setRefused(problem instanceof Error ? problem.message : String(problem)));
  };
  const options = head.configOptions ?? [];
  return (
    <div class="th-composer-place">
      {refused !== undefined && (
        <p class="error-text th-composer-refused" role="alert">
          {refused}
        </p>
      )}
      <ComposerBox
        name={threadId}
        draft={draftOf(threadId)}
        onDraft={(words) => {
          if (words !== "" && why === undefined) actions.startAgent();
          keepDraft(threadId, words);
        }}
        onSend={(words, blocks, manner) => actions.send(words, blocks as AcpObject[], manner)}
        onStop={() => set(actions.interrupt())}
        onStopNow={() => set(actions.stopNow())}
        running={running}
        stopping={interrupting}
        sendKey={sendKey.value}
        commands={commands}
        steerable={thread.initialize === undefined ? undefined : steers(thread.initialize)}
        capabilities={promptCapabilities}
        barred={why}
        folded={thread.questions.length > 0}
        prompts={() => promptsOf(turns.current)}
      >
        {!hasMode(options) && (
          <ModeSelect
            modeId={head.modeId ?? text(head.modes?.currentModeId) ?? ""}
            modes={modesOf(head.modes)}
            onPick={(modeId) => set(actions.setMode(modeId))}
            disabled={why !== undefined}
          />
        )}
        <ConfigOptions
          options={options}
          onSet={(configId, value) => set(actions.setConfig(configId, value))}
          disabled={why !== undefined}
        />
        <UsageMeter usage={head.tokenUsage} spent={head.spent} />
      </ComposerBox>
    </div>
  );
}

/** If an option of this category exists, it replaces the modes: one selector is enough. */
function hasMode(options: readonly AcpObject[]): boolean {
  return options.some((option) => configOption(option)?.category === "mode");
}

function barred(online: boolean, archived: boolean, deleted: boolean): string | undefined {
  if (deleted) return "This thread is deleted.";
  if (archived) return "This thread is archived. Unarchive it to continue.";
  return online ? undefined : "Offline. Your draft is saved.";
}
