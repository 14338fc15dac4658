// One item of a turn. Unknown items are shown as raw JSON.

import type { Item, Resolved } from "@acpd/client";

import { visibleLine } from "../../../text/bidi-guard.ts";
import { CommandLine } from "./CommandLine.tsx";
import { FileLine } from "./FileLine.tsx";
import { AgentMessage, Thought, ToldMessage, UserMessage } from "./Messages.tsx";
import { RawJson } from "../content/RawJson.tsx";
import { ToolLine } from "./ToolLine.tsx";

export interface ItemProps {
  item: Item;
  /** The nested items. */
  nested?: readonly Item[];
  /** Whether it is still changing. */
  live?: boolean;
  /** The answer to acpd's own question that allowed it. */
  decision?: Resolved | undefined;
}

export function ItemView({ item, nested = [], live = item.outcome == null, decision }: ItemProps) {
  switch (item.type) {
    case "userMessage":
      // An agent sends its subagents messages, which are not those of the user.
      return item.lane == null ? <UserMessage item={item} /> : <ToldMessage item={item} />;
    case "agentMessage":
      return <AgentMessage item={item} live={live} />;
    case "agentThought":
      return <Thought item={item} live={live} />;
    case "toolCall":
      return <ToolLine item={item} nested={nested} decision={decision} />;
    case "fileChange":
      return <FileLine item={item} decision={decision} />;
    case "terminalCommand":
      return <CommandLine item={item} decision={decision} />;
    default:
      return <UnknownItem item={item} />;
  }
}

/** An item of a daemon newer than this page. */
function UnknownItem({ item }: { item: never }) {
  const { itemId, type } = item as { itemId?: string; type?: string };
  return <RawJson id={`${itemId}/raw`} label={`Item: ${visibleLine(String(type))}`} value={item} />;
}
