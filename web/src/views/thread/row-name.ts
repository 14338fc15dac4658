// The names of rows for screen readers, which read them when the user moves from row to row.

import type { Item, Message } from "@acpd/client";

import type { ShownRow } from "../../state/outline.ts";
import { commandLine, isUserCommand, tallyOf, titleOf, wordsOf } from "../../state/tool-calls.ts";
import { visibleLine } from "../../text/bidi-guard.ts";
import { firstWords } from "../../text/format.ts";
import { answerWords } from "./items/decision.ts";
import { laneName } from "./items/LaneLine.tsx";

const names = new WeakMap<ShownRow, string>();

/** Returns the name of a row. It is computed once: while a message streams, all visible rows need theirs many times a second. */
export function rowName(row: ShownRow): string {
  const name = names.get(row) ?? nameOf(row);
  names.set(row, name);
  return name;
}

function nameOf(row: ShownRow): string {
  switch (row.kind) {
    case "item":
      return itemName(row.item);
    case "inner":
      return nameOf(row.row);
    case "lane":
      return laneName(row);
    case "work":
      return [row.live ? "Work so far" : "Work", ...wordsOf(tallyOf(row.items))].join(", ");
    case "group":
      return wordsOf(tallyOf(row.items)).join(", ");
    case "notice":
      return `Notice: ${firstWords(visibleLine(row.notice.message))}`;
    case "answer": {
      const { said, by } = answerWords(row.answer);
      return `${said} ${by}`;
    }
    case "steering":
      return "Follow-up to the running turn";
    case "working":
      return "Running";
    case "turnEnd":
      return "End of the turn";
    case "away":
      return ["New since you left", ...row.words].join(", ");
    case "plan":
      return "Plan";
  }
}

const SPEAKERS = { userMessage: "You", agentMessage: "Agent", agentThought: "Thought" } as const;

/** A subagent is told things by an agent, not by the user. */
function speakerOf({ type, lane }: Pick<Item & Message, "type" | "lane">): string {
  return type === "userMessage" && lane != null ? "Told" : SPEAKERS[type];
}

function itemName(item: Item): string {
  switch (item.type) {
    case "userMessage":
    case "agentMessage":
    case "agentThought":
      return `${speakerOf(item)}: ${firstWords(item.text ?? "")}`;
    case "toolCall":
      return `${firstWords(visibleLine(titleOf(item)))}, ${item.status.replace("_", " ")}`;
    case "fileChange":
      return `Change of ${visibleLine(item.path)}`;
    case "terminalCommand":
      return `${isUserCommand(item) ? "You ran" : "Command"}: ${firstWords(visibleLine(commandLine(item)))}`;
    default:
      return "Item";
  }
}
