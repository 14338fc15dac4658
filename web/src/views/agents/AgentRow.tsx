/** One agent: its description, its state or why it is unavailable, and its check. */

import type { Agent, AgentExamined } from "@acpd/client";

import { signedOut } from "../../app/agents.ts";
import { visibleLine } from "../../text/bidi-guard.ts";
import { AgentGlyph } from "../parts/AgentGlyph.tsx";
import { CheckButton, CheckResult, useCheck } from "./Check.tsx";
import { InstallButton, InstallState } from "./Install.tsx";

const SOURCES: Record<string, string> = {
  builtin: "Part of acpd",
  config: "From your config",
  registry: "From the registry",
  installed: "Installed here",
};
const RUNS: Record<string, string> = {
  path: "runs its own program",
  installed: "installed by acpd",
  npx: "runs with npx, downloaded on first use",
  uvx: "runs with uvx, downloaded on first use",
};

interface Props {
  agent: Agent;
  /** Checks the agent. */
  check: (agentType: string) => Promise<AgentExamined>;
  /** Why it cannot be checked now; `undefined` if it can. */
  barred?: string;
  /** Opens the form for a new thread; `undefined` without permission, or if the agent is not set up. */
  onThread?: () => void;
  /** Makes it the default; `undefined` without permission, or if it is not set up. */
  onDefault?: () => void;
}

export function AgentRow({ agent, check, barred, onThread, onDefault }: Props) {
  const { id, title: name, description, version, source, runs, installed, reason } = agent;
  const examination = useCheck(id, check);
  return (
    <li class="agent">
      <div class="agent-head">
        <span class="agent-glyph" aria-hidden="true">
          <AgentGlyph agentType={id} />
        </span>
        <div class="agent-text">
          <p class="agent-name">
            <strong>{name}</strong>
            {name !== id && <code>{visibleLine(id)}</code>}
            {version && <span class="hint">{version}</span>}
            {agent.isDefault && <span class="agent-tag">Default</span>}
            {signedOut.value.has(id) && <span class="agent-tag is-waiting">Needs a sign-in</span>}
          </p>
          {description && <p class="agent-about">{description}</p>}
          {reason && <p class="agent-reason">{reason}</p>}
          {signedOut.value.has(id) && onThread && <p class="hint">Its next thread offers the sign-in.</p>}
          <p class="hint">{[SOURCES[source] ?? source, runs && (RUNS[runs] ?? runs)].filter(Boolean).join(" · ")}</p>
        </div>
        <div class="agent-acts">
          <InstallButton agent={agent} />
          {installed && (
            <>
              {onDefault && !agent.isDefault && (
                <button type="button" class="button" aria-label={`Make default: ${name}`} onClick={onDefault}>
                  Make default
                </button>
              )}
              <CheckButton name={name} check={examination} barred={barred} />
              {onThread && (
                <button type="button" class="button" aria-label={`New thread with ${name}`} onClick={onThread}>
                  New thread
                </button>
              )}
            </>
          )}
        </div>
      </div>
      <InstallState agent={agent} />
      {!installed && agent.installsBy == null && source !== "config" && (
        <p class="hint agent-look">Add what is missing to the daemon’s host, then refresh.</p>
      )}
      {installed && <CheckResult id={id} name={name} check={examination} />}
    </li>
  );
}
