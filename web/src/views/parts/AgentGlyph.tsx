/** A small mark of an agent beside its name: a figure of acpd's own for agents that many use, for others the initial. */

import { titleOfAgent } from "../../app/agents.ts";

/** By the first word of the agent's id: the number of its colour, and its figure. No vendor's logo. */
const FIGURES: ReadonlyMap<string, readonly [tone: number, figure: string]> = new Map([
  ["claude", [1, "M2.5 11a5.5 5.5 0 0 1 11 0z"]],
  ["codex", [2, "M6 4.5 2.5 8 6 11.5M10 4.5 13.5 8 10 11.5"]],
  ["gemini", [3, "M2.5 8a3 3 0 1 0 6 0a3 3 0 1 0-6 0M7.5 8a3 3 0 1 0 6 0a3 3 0 1 0-6 0"]],
  ["opencode", [4, "M6 3H3v10h3M10 3h3v10h-3"]],
  ["goose", [1, "M2.5 5 8 11 13.5 5"]],
  ["cursor", [2, "M5.5 3h5M5.5 13h5M8 3v10"]],
  ["github", [3, "M2.5 11h11L8 4z"]],
  ["demo", [4, "M5 3.5v9l7-4.5z"]],
]);

export function AgentGlyph({ agentType }: { agentType: string }) {
  const figure = FIGURES.get(/^\w*/.exec(agentType)![0].toLowerCase());
  const title = titleOfAgent(agentType);
  return figure === undefined ? (
    // By the style sheet: it is no part of the text beside it.
    <span class="glyph" data-initial={initialOf(title)} title={title} aria-hidden="true" />
  ) : (
    <span class={`glyph is-agent-${figure[0]}`} title={title} aria-hidden="true">
      <svg viewBox="0 0 16 16" width="14" height="14" fill="none">
        <path d={figure[1]} stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" />
      </svg>
    </span>
  );
}

/** Returns the first letter or number of a title. */
function initialOf(title: string): string {
  return /[\p{L}\p{N}]/u.exec(title)?.[0].toUpperCase() ?? "";
}
