// All rows of a thread's conversation.

import type { Item, Role } from "@acpd/client";
import { useCallback, useContext, useMemo, useRef } from "preact/hooks";

import type { ThreadActions } from "../../state/actions.ts";
import type { Row, ThreadState } from "../../state/thread.ts";
import { Virtual } from "../list/Virtual.tsx";
import type { ThreadViewProps } from "../thread-props.ts";
import { CurrentThread, type ThreadContext, Waiting } from "./content/context.ts";
import { ItemView } from "./items/ItemView.tsx";
import { NoticeView } from "./content/Notice.tsx";
import { diffStyle } from "./content/settings.ts";
import { TurnFoot } from "./items/TurnFoot.tsx";

export function Conversation({ thread, rows, actions, role, target, toEnd }: ThreadViewProps) {
  // Opened folds stay open while the user navigates in the thread.
  const folds = useMemo(() => new Map<string, boolean>(), [thread.threadId]);
  const latest = useRef(thread);
  latest.current = thread;
  const style = diffStyle.value;
  const context = useMemo(
    (): ThreadContext => ({
      cwd: thread.head.cwd,
      diffStyle: style,
      setDiffStyle: (next) => {
        diffStyle.value = next;
      },
      folds,
      terminal: (terminalId) => terminalOf(latest.current, terminalId),
    }),
    [thread.head.cwd, style, folds],
  );
  const draw = useCallback((row: Row) => <Line row={row} actions={actions} role={role} />, [actions, role]);
  const more = useCallback(() => void actions.loadOlder().catch(() => {}), [actions]);
  return (
    <CurrentThread.Provider value={context}>
      <Waiting.Provider value={thread.head.status === "waiting"}>
        <Virtual
          items={rows}
          keyOf={keyOf}
          estimate={estimate}
          render={draw}
          label="Conversation"
          {...(thread.older === undefined ? {} : { onNearStart: more })}
          {...(target === undefined ? {} : { target })}
          {...(toEnd === undefined ? {} : { toEnd })}
        />
      </Waiting.Provider>
    </CurrentThread.Provider>
  );
}

function keyOf(row: Row): string {
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
  row: Row;
  actions: Pick<ThreadActions, "interrupt" | "fork" | "rollback">;
  role: Role;
}

export function Line(props: LineProps) {
  return <div class={`th-line th-line-of-${props.row.kind}`}>{inside(props)}</div>;
}

function inside({ row, actions, role }: LineProps) {
  switch (row.kind) {
    case "item":
      return <ItemView item={row.item} nested={row.children} live={row.live} />;
    case "turnEnd":
      return <TurnFoot turn={row.turn} actions={actions} role={role} />;
    case "notice":
      return <NoticeView notice={row.notice} />;
    case "working":
      return <Working stopping={row.turn.interrupting === true} />;
    case "steering":
      return (
        <div class="th-user th-steering" role="group" aria-label="Sent to the running turn">
          <div class="th-user-text">{row.steering.text}</div>
          <p class="th-quiet">Sending to the running turn</p>
        </div>
      );
  }
}

function Working({ stopping }: { stopping: boolean }) {
  const waiting = useContext(Waiting);
  return (
    <p class="th-working" role="status">
      {!waiting && <span class="th-spinner" aria-hidden="true" />}
      {stopping ? "Stopping" : waiting ? "Waiting for approval" : "Working"}
    </p>
  );
}

/** Returns the estimated height of a row, in pixels. */
function estimate(row: Row): number {
  if (row.kind !== "item") return 36;
  const { item } = row;
  switch (item.type) {
    case "userMessage":
    case "agentMessage":
      return 40 + Math.ceil((item.text?.length ?? 0) / 90) * 21;
    case "agentThought":
      return 32;
    case "terminalCommand":
      return 90 + Math.min(360, ((item.output?.length ?? 0) / 60) * 18);
    case "fileChange":
      return 90 + Math.min(400, ((item.diff?.length ?? 0) / 40) * 18);
    default:
      return 96 + row.children.length * 80;
  }
}
