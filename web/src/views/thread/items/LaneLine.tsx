// A subagent in its parent's conversation: one line with its name, what it did last, its calls and its state, which opens to its own
// conversation.

import type { Item } from "@acpd/client";
import { useContext } from "preact/hooks";

import { doing, nameOfSubagent } from "../../../state/lanes.ts";
import type { LaneLine as LaneRow } from "../../../state/outline.ts";
import { commandLine, titleOf } from "../../../state/tool-calls.ts";
import { visibleLine, visibleName } from "../../../text/bidi-guard.ts";
import { count, firstWords, shortPaths, shownPath } from "../../../text/format.ts";
import { useThread, Waiting } from "../content/context.ts";
import { Chevron } from "../content/Fold.tsx";
import { Icon } from "../content/Icon.tsx";
import { Status } from "../content/Status.tsx";

export function LaneLine({ row }: { row: LaneRow }) {
  const { choose, cwd } = useThread();
  const asked = useContext(Waiting).items;
  const { subagent, items, open } = row;
  const isAsking = items.some(({ itemId }) => asked.has(itemId));
  // What an ended turn shows of a subagent that works on is over.
  const state = row.live || subagent.state?.state === "idle" || isAsking ? doing(subagent, isAsking) : undefined;
  const last = open ? "" : lastAction(items, cwd);
  const notices = row.rows.filter(({ kind }) => kind === "notice").length;
  return (
    <button
      type="button"
      class="th-work th-lane"
      aria-expanded={open}
      title={subagent.description == null ? undefined : visibleName(subagent.description)}
      onClick={() => choose?.(row.key, !open)}
    >
      <Chevron />
      <Icon name="agents" />
      <span class="th-lane-name" dir="auto">
        <span class="sr-only">Subagent: </span>
        {nameOfSubagent(subagent) ?? "Subagent"}
      </span>
      {last !== "" && (
        <span class="th-lane-last" dir="auto">
          {last}
        </span>
      )}
      <span class="th-lane-count">{[callsOf(items), noticesOf(notices)].filter(Boolean).join(" · ")}</span>
      {state !== undefined && <Status {...state} brief={state.status === "completed"} />}
    </button>
  );
}

/** Names a subagent for screen readers. */
export function laneName({ subagent, items }: Pick<LaneRow, "subagent" | "items">): string {
  return [`Subagent ${nameOfSubagent(subagent) ?? ""}`.trim(), callsOf(items)].filter(Boolean).join(", ");
}

/** Counts the calls of a subagent. A command that a call runs in a terminal is part of the call. */
function callsOf(items: readonly Item[]): string {
  const calls = items.filter(({ type, parentItemId }) => type !== "agentMessage" && type !== "agentThought" && type !== "userMessage" && parentItemId == null);
  return calls.length === 0 ? "" : `${count(calls.length)} ${calls.length === 1 ? "call" : "calls"}`;
}

function noticesOf(notices: number): string {
  return notices === 0 ? "" : `${count(notices)} ${notices === 1 ? "notice" : "notices"}`;
}

/** Returns what was done or said last, in one line. */
function lastAction(items: readonly Item[], cwd: string): string {
  const item = items.findLast((one) => one.type !== "userMessage" && one.type !== "agentThought") ?? items.at(-1);
  switch (item?.type) {
    case "toolCall":
      return firstLine(shortPaths(titleOf(item), cwd));
    case "terminalCommand":
      return firstLine(commandLine(item));
    case "fileChange":
      return firstLine(shownPath(item.path, cwd));
    case "agentMessage":
    case "agentThought":
      return visibleName(firstWords(item.text ?? ""));
    default:
      return "";
  }
}

/** Longest text of a line, in characters: the view cuts it to its width. */
const LINE = 200;

function firstLine(text: string): string {
  return visibleLine([...text.slice(0, 2 * LINE)].slice(0, LINE).join(""));
}
