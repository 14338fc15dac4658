/** One agent: its description, its command or why it is unavailable, and its check. */

import type { Agent, AgentExamined } from "@acpd/client";

import { visibleLine } from "../../text/bidi-guard.ts";
import { CheckButton, CheckResult, useCheck } from "./Check.tsx";
import { Command } from "./Command.tsx";
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
}

export function AgentRow({ agent, check, barred, onThread }: Props) {
  const { id, title: name, description, version, source, runs, installed, reason } = agent;
  const examination = useCheck(id, check);
  return (
    <li class="agent">
      <div class="agent-head">
        <div class="agent-text">
          <p class="agent-name">
            <strong>{name}</strong>
            {name !== id && <code>{visibleLine(id)}</code>}
            {version && <span class="hint">{version}</span>}
            {agent.isDefault && <span class="hint">Default</span>}
          </p>
          {description && <p class="agent-about">{description}</p>}
          {reason && <p class="agent-reason">{reason}</p>}
          <p class="hint">{[SOURCES[source] ?? source, runs && (RUNS[runs] ?? runs)].filter(Boolean).join(" · ")}</p>
        </div>
        <div class="agent-acts">
          <InstallButton agent={agent} />
          {installed && (
            <>
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
      {!installed && agent.installsBy == null && source !== "config" && <Elsewhere agent={id} />}
      {installed && <CheckResult id={id} name={name} check={examination} />}
    </li>
  );
}

/** For an agent that the daemon cannot install, as its installer is missing on the host. */
function Elsewhere({ agent }: { agent: string }) {
  return (
    <p class="hint agent-look">
      Add what is missing to the daemon’s host, then install it here or by <Command text={`acpd agents install ${agent}`} />
    </p>
  );
}
