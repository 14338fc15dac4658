/** What a reader of a shared thread sees below its title: the agent, the folder, and when it began. */

import { folderOf } from "../../state/threads.ts";
import { visibleLine } from "../../text/bidi-guard.ts";
import { dateAndTime, dayAndClock } from "../../text/format.ts";

export interface SharedPlaceProps {
  /** The agent's name for itself, or acpd's: readers have no list of agents. */
  agent: string;
  cwd: string;
  createdAt: number;
}

export default function SharedPlace({ agent, cwd, createdAt }: SharedPlaceProps) {
  return (
    <span>
      {visibleLine(agent)} · <bdi title={visibleLine(cwd)}>{folderOf(cwd)}</bdi> ·{" "}
      <time dateTime={new Date(createdAt).toISOString()} title={dateAndTime(createdAt)}>
        {dayAndClock(createdAt)}
      </time>
    </span>
  );
}
