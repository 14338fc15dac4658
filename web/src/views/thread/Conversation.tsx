// All rows of a thread's conversation.

import type { Item, Role } from "@acpd/client";
import type { JSX } from "preact";
import { useCallback, useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";

import { objects } from "../../state/acp.ts";
import type { ThreadActions } from "../../state/actions.ts";
import { atWorkWords, countAtWork } from "../../state/lanes.ts";
import type { ShownRow } from "../../state/outline.ts";
import { firstRemoved, turnBegunBy } from "../../state/prompts.ts";
import { lastRefusal, signInWanted } from "../../state/sign-in.ts";
import type { ThreadState } from "../../state/thread.ts";
import { Virtual } from "../list/Virtual.tsx";
import { lazy } from "../parts/lazy.tsx";
import type { ThreadViewProps } from "../thread-props.ts";
import { AwayLine, useAwayLine } from "./away-line.tsx";
import { CurrentThread, type MessageEdits, type ThreadContext, type ThreadWaiting, Waiting } from "./content/context.ts";
import { editMessage } from "./composer/edit-message.ts";
import { NoticeView } from "./content/Notice.tsx";
import { PlanView } from "./content/Plan.tsx";
import { diffStyle } from "./content/settings.ts";
import type { AnswerLineProps } from "./items/AnswerLine.tsx";
import { ItemView } from "./items/ItemView.tsx";
import { LaneLine } from "./items/LaneLine.tsx";
import { TurnFoot } from "./items/TurnFoot.tsx";
import { GroupLine, WorkLine } from "./items/WorkLine.tsx";
import { useOutline } from "./outline.ts";
import { rowName } from "./row-name.ts";

export function Conversation({ thread, rows, actions, role, online, target, toEnd, fromStart = false }: ThreadViewProps) {
  const { shown: outline, view, choose } = useOutline(thread, rows, target);
  const shown = useAwayLine(thread, outline);
  const latest = useRef(thread);
  latest.current = thread;
  const style = diffStyle.value;
  const terminals = useTerminals(actions, role, online);
  const openFolder = useMemo(
    () => (mayOperate(role) ? (folder: string) => actions.addFolder(folder) : undefined),
    [actions, role],
  );
  const { archived } = thread.head;
  const edits = useMemo(
    (): MessageEdits | undefined =>
      mayOperate(role) && !archived
        ? {
            begin: (itemId) => {
              const turn = turnBegunBy(latest.current, itemId);
              if (turn !== undefined) editMessage(latest.current.threadId, turn);
            },
            barred: (itemId) => (turnBegunBy(latest.current, itemId) === undefined ? BEGAN_NOTHING : undefined),
          }
        : undefined,
    [role, archived],
  );
  const context = useMemo(
    (): ThreadContext => ({
      threadId: thread.threadId,
      cwd: thread.head.cwd,
      diffStyle: style,
      setDiffStyle: (next) => {
        diffStyle.value = next;
      },
      folds: view.folds,
      edits,
      removedBy: (lastKept) => firstRemoved(latest.current, lastKept),
      terminal: (terminalId) => terminalOf(latest.current, terminalId),
      terminals,
      openFolder,
      ownedAgent: role === "owner" ? thread.head.agentType : undefined,
      choose,
      target,
      following: view.following,
    }),
    [thread.threadId, thread.head.cwd, style, view, choose, target, terminals, openFolder, role, thread.head.agentType, edits],
  );
  const waiting = useWaiting(thread, role);
  const draw = useCallback(
    (row: ShownRow) => <Line row={row} threadId={thread.threadId} actions={actions} role={role} />,
    [thread.threadId, actions, role],
  );
  const more = useCallback(() => void actions.loadOlder().catch(() => {}), [actions]);
  useReturn(view.place.current?.key, shown, target === undefined && thread.older !== undefined ? more : undefined);
  return (
    <CurrentThread.Provider value={context}>
      <Waiting.Provider value={waiting}>
        <Virtual
          items={shown}
          keyOf={keyOf}
          estimate={estimate}
          render={draw}
          label="Conversation"
          nameOf={rowName}
          place={view.place}
          following={view.following}
          {...(thread.older === undefined ? {} : { onNearStart: more })}
          {...(target === undefined ? {} : { target })}
          {...(toEnd === undefined ? {} : { toEnd })}
          fromStart={fromStart}
        />
      </Waiting.Provider>
    </CurrentThread.Provider>
  );
}

/** Said about messages that the agent received in the middle of a turn. */
const BEGAN_NOTHING = "It was sent during a turn. Edit the message that began the turn.";

/** Forms, and permissions that acpd itself asked for, are rare. */
const AnswerLine = lazy<AnswerLineProps>(async () => ({ default: (await import("./items/AnswerLine.tsx")).AnswerLine }));

/** Maximum number of pages that are loaded to return to the user's place. */
const PAGES = 20;

/** Loads older turns until they contain the user's place, if it is not in the loaded ones. */
function useReturn(place: string | undefined, shown: readonly ShownRow[], more: (() => void) | undefined): void {
  const [first] = useState(place);
  const left = useRef(PAGES);
  // Follow-ups exist only until the agent has received them, and a notice may become a detail of another one.
  const isOver = first === undefined || /^(notice|steering)-/.test(first) || shown.some(({ key }) => key === first);
  if (isOver) left.current = 0;
  useEffect(() => {
    if (more !== undefined && left.current-- > 0) more();
  }, [shown]);
}

/** Returns what the thread waits for; the same object until that changes. */
function useWaiting(thread: ThreadState, role: Role): ThreadWaiting {
  const { head, questions, turns, answers, notices } = thread;
  const waiting = head.status === "waiting";
  const lastTurn = turns.findLast(({ id }) => id != null)?.key;
  const subagents = countAtWork(thread);
  const signIn = mayOperate(role) && signInWanted(thread) !== undefined ? lastRefusal(notices)?.message : undefined;
  const exits = useMemo(
    () => notices.flatMap(({ notice }) => (notice.code === "agentLost" && notice.detail ? [notice] : [])),
    [notices],
  );
  return useMemo(
    () => ({
      waiting,
      items: new Set(questions.flatMap(({ params }) => ("itemId" in params && params.itemId) || [])),
      answers: new Map(answers.flatMap((answer) => (answer.itemId != null ? [[answer.itemId, answer] as const] : []))),
      lastTurn,
      exits,
      signIn,
      subagents,
    }),
    [waiting, questions, answers, lastTurn, exits, signIn, subagents],
  );
}

/** Returns what the user may do to running commands; the same object until that changes. */
function useTerminals(actions: ThreadActions, role: Role, online: boolean): ThreadContext["terminals"] {
  const may = mayOperate(role);
  return useMemo(
    () =>
      may
        ? {
            typeIn: (terminalId: string, text: string) => actions.typeIn(terminalId, text),
            endCommand: (terminalId: string) => actions.endCommand(terminalId),
            online,
          }
        : undefined,
    [actions, may, online],
  );
}

function mayOperate(role: Role): boolean {
  return role === "operator" || role === "owner";
}

function keyOf(row: ShownRow): string {
  return row.key;
}

function terminalOf(thread: ThreadState, terminalId: string): Item | undefined {
  for (const turn of thread.turns) {
    const found = turn.items.find((item) => item.type === "terminalCommand" && item.terminalId === terminalId);
    if (found !== undefined) return found;
  }
  return undefined;
}

interface LineProps {
  row: ShownRow;
  threadId: string;
  actions: Pick<ThreadActions, "fork" | "rollback" | "send" | "readDiff">;
  role: Role;
}

export function Line(props: LineProps) {
  const { row } = props;
  const style = row.kind === "inner" ? { "--depth": String(row.depth) } : undefined;
  return (
    <div class={`th-line th-line-of-${row.kind}`} style={style}>
      {inside(props)}
    </div>
  );
}

function inside(props: LineProps): JSX.Element | null {
  const { row, threadId, actions, role } = props;
  switch (row.kind) {
    case "item":
      return <ItemView item={row.item} nested={row.children} live={row.live} decision={row.decision} />;
    case "inner":
      return inside({ ...props, row: row.row });
    case "lane":
      return <LaneLine row={row} />;
    case "work":
      return <WorkLine row={row} />;
    case "group":
      return <GroupLine row={row} />;
    case "away":
      return <AwayLine row={row} />;
    case "plan":
      return <PlanView plan={row.plan} open={false} ended />;
    case "turnEnd":
      return <TurnFoot turn={row.turn} timed={"timed" in row} threadId={threadId} actions={actions} role={role} />;
    case "notice":
      return <NoticeView notice={row.notice} details={row.details} />;
    case "answer":
      return <AnswerLine answer={row.answer} />;
    case "working":
      return <Working stopping={row.turn.interrupting === true} />;
    case "steering":
      return (
        <div class="th-user th-steering" role="group" aria-label="Sent to the running turn">
          <div class="th-user-text">{row.steering.text}</div>
          <p class="th-quiet">Sending…</p>
        </div>
      );
  }
}

function Working({ stopping }: { stopping: boolean }) {
  const { waiting, subagents = 0 } = useContext(Waiting);
  // The question says the rest.
  if (waiting && !stopping) return null;
  return (
    <p class="th-working" role="status">
      {!waiting && <span class="th-spinner" aria-hidden="true" />}
      {stopping ? "Stopping" : subagents > 0 ? atWorkWords(subagents) : "Working"}
    </p>
  );
}

/** The estimated height of a picture, in pixels. */
const PICTURE = 240;

/** Returns the estimated height of a row, in pixels. */
function estimate(row: ShownRow): number {
  if (row.kind === "inner") return estimate(row.row);
  if (row.kind !== "item") return 34;
  const { item } = row;
  switch (item.type) {
    case "userMessage":
    case "agentMessage":
      return 40 + Math.ceil((item.text?.length ?? 0) / 80) * 24 + objects(item.content).filter(({ type }) => type === "image").length * PICTURE;
    default:
      return 34;
  }
}
