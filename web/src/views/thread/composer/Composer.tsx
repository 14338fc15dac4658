// The composer of one thread: the box, with the thread's mode and options, its usage, and its draft.

import type { AcpObject } from "@acpd/client";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import type { ThreadViewProps } from "../../thread-props.ts";
import { commandsOf, configOption, modesOf, type PromptCapabilities, steers, text } from "../../../state/acp.ts";
import { promptsOf } from "../../../state/recall.ts";
import { lazy } from "../../parts/lazy.tsx";
import { ComposerBox } from "./ComposerBox.tsx";
import { ConfigOptions, ModeSelect } from "./Options.tsx";
import { sentence } from "../../../connection/connection.ts";
import { draftOf, editDraft, keepDraft } from "../../../app/drafts.ts";
import { editedTurn } from "../../../app/editing.ts";
import { hasJustStopped } from "../../../app/escape.ts";
import { editedState } from "../../../state/prompts.ts";
import { attachOnce, leaveEdit, sendEdit } from "./edit-message.ts";
import { Editing } from "./Editing.tsx";
import type { EmptyPlaceProps } from "./EmptyPlace.tsx";
import { isSending, whileSending } from "./sending.ts";
import { moveAttachments } from "./use-attachments.ts";
import { sendKey } from "../content/settings.ts";
import { UsageMeter } from "./UsageMeter.tsx";

const EmptyPlace = lazy<EmptyPlaceProps>(() => import("./EmptyPlace.tsx"));

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
  const turnId = editedTurn(threadId);
  const turn = turnId === undefined ? undefined : thread.turns.find(({ id }) => id === turnId);
  const begun = turn?.id == null ? undefined : { ...turn, id: turn.id };
  // Before a key can send the message without them.
  useLayoutEffect(() => {
    if (begun !== undefined) attachOnce(threadId, begun);
  }, [threadId, begun?.id]);
  const edited = turnId === undefined ? undefined : editedState(thread, turnId);
  const mayWrite = role !== "observer" && role !== "approver";
  /** The missing turn that the user has asked for: an edit that was forgotten must not load the whole conversation at each visit. */
  const [wanted, setWanted] = useState<string>();
  const missing = mayWrite && edited?.isMissing === true ? turnId : undefined;
  const loads = missing !== undefined && missing === wanted && online;
  const [unloaded, setUnloaded] = useState<string>();
  useEffect(() => {
    setUnloaded(undefined);
  }, [missing, online]);
  useEffect(() => {
    if (!loads) return;
    let isOver = false;
    actions.loadTurn(missing).catch((problem: unknown) => {
      if (isOver) return;
      setUnloaded(`The earlier message is not loaded. (${sentence(problem)})`);
      setWanted(undefined);
    });
    return () => {
      isOver = true;
    };
  }, [actions, missing, loads]);
  if (!mayWrite) return null;
  const name = turnId === undefined ? threadId : editDraft(threadId);

  // If the agent refuses, the value stays unchanged and the reason appears next to it.
  const set = (asked: Promise<void>) => {
    setRefused(undefined);
    asked.catch((problem: unknown) => setRefused(problem instanceof Error ? problem.message : String(problem)));
  };
  // The message is sent there: nothing is lost if the user goes on with something else first.
  const fork = (replaced: string) => {
    const words = draftOf(name);
    const prepare = (forked: string) => {
      keepDraft(forked, words);
      moveAttachments(name, forked, forked);
    };
    set(whileSending(name, () => sendEdit(threadId, replaced, () => actions.forkBefore(replaced, prepare))));
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
        name={name}
        threadId={threadId}
        draft={draftOf(name)}
        onDraft={(words) => {
          // A message that is sent in place of another one starts the agent anew.
          if (words !== "" && why === undefined && turnId === undefined) actions.startAgent();
          keepDraft(name, words);
        }}
        onSend={async (words, blocks, manner) => {
          if (turnId === undefined || edited === undefined) return actions.send(words, blocks as AcpObject[], manner);
          const content = blocks as AcpObject[];
          await sendEdit(threadId, turnId, () => (edited.gone ? actions.send(words, content, "queue") : actions.sendInstead(turnId, words, content)));
        }}
        {...(edited === undefined || turnId === undefined
          ? {}
          : {
              banner: (
                <Editing
                  edited={edited}
                  onFork={edited.first || edited.gone || edited.isMissing ? undefined : () => fork(turnId)}
                  onLoad={missing === undefined || !online || loads ? undefined : () => setWanted(missing)}
                  onLeave={() => leaveEdit(threadId)}
                  off={isSending(name)}
                />
              ),
              endsWhenSent: true,
              onLeave: () => {
                if (!hasJustStopped()) leaveEdit(threadId);
              },
              waits: loads ? "Loading the earlier message…" : (edited.isMissing ? unloaded : undefined) ?? edited.waits,
              label: "Edited message",
              sendLabel: edited.gone ? "Send" : "Resend",
            })}
        onStop={() => set(actions.interrupt())}
        onStopNow={() => set(actions.stopNow())}
        running={running}
        stopping={interrupting}
        sendKey={sendKey.value}
        commands={commands}
        steerable={turnId !== undefined ? false : thread.initialize === undefined ? undefined : steers(thread.initialize)}
        capabilities={promptCapabilities}
        barred={why}
        folded={thread.questions.length > 0 && turnId === undefined}
        {...(turnId === undefined && { prompts: () => promptsOf(turns.current) })}
        {...(turnId === undefined && !running && { suggestions: thread.suggestions ?? [] })}
      >
        {head.turnCount === 0 && thread.turns.length === 0 && (
          <EmptyPlace threadId={threadId} agentType={head.agentType} cwd={head.cwd} disabled={why !== undefined} />
        )}
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
