/** One agent: its description, its command or why it is unavailable, and its check. */

import type { Agent, AgentExamined } from "@acpd/client";
import { useEffect, useRef, useState } from "preact/hooks";

import { signedOut } from "../../app/agents.ts";
import { sentence } from "../../connection/connection.ts";
import { visible } from "../../text/bidi-guard.ts";
import { Command } from "./Command.tsx";
import { Examined } from "./Examined.tsx";
import { InstallButton, InstallState } from "./Install.tsx";

const SOURCES: Record<string, string> = {
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
  /** Opens the form for a new thread; `undefined` without permission. */
  onThread?: () => void;
}

type Look = { name: "none" } | { name: "busy" } | { name: "found"; found: AgentExamined } | { name: "failed"; why: string };

export function AgentRow({ agent, check, barred, onThread }: Props) {
  const { id, title: name, description, version, source, runs, installed, reason } = agent;
  const [look, setLook] = useState<Look>({ name: "none" });
  const here = useRef(true);
  useEffect(() => () => void (here.current = false), []);
  const busy = look.name === "busy";
  const examine = async () => {
    if (busy || barred !== undefined) {
      return;
    }
    setLook({ name: "busy" });
    const next = await check(id).then(
      (found): Look => ({ name: "found", found }),
      (why: unknown): Look => ({ name: "failed", why: sentence(why) }),
    );
    if (here.current) {
      setLook(next);
    }
  };
  return (
    <li class="agent">
      <div class="agent-head">
        <div class="agent-text">
          <p class="agent-name">
            <strong>{name}</strong>
            {name !== id && <code>{id}</code>}
            {version && <span class="hint">{version}</span>}
          </p>
          {description && <p class="agent-about">{description}</p>}
          {reason && <p class="agent-reason">{reason}</p>}
          <p class="hint">{[SOURCES[source] ?? source, runs && (RUNS[runs] ?? runs)].filter(Boolean).join(" · ")}</p>
        </div>
        <div class="agent-acts">
          <InstallButton agent={agent} />
          {installed && (
            <>
              {/* The busy button keeps the focus, for keyboard users. */}
              <button
                type="button"
                class="button"
                aria-label={`Check ${name}`}
                aria-busy={busy}
                aria-disabled={busy || undefined}
                disabled={barred !== undefined}
                title={barred}
                onClick={() => void examine()}
              >
                {busy ? "Checking…" : "Check"}
              </button>
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
      {installed && (
        <div role="status" aria-live="polite" aria-label={`Result of checking ${name}`}>
          {busy && <p class="hint agent-look">Starting and initializing the agent…</p>}
          {look.name === "failed" && <p class="error-text agent-look">Couldn’t check: {visible(look.why)}</p>}
          {look.name === "found" && <Examined {...look.found} isSignedOut={signedOut.value.has(id)} />}
        </div>
      )}
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
