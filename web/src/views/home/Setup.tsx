/** In place of the form for a new thread, while no agent can be started: the steps to the first answer. */

import type { Agent } from "@acpd/client";
import { useEffect, useState } from "preact/hooks";

import { agents, justInstalled, lastAgent, lookForAgents } from "../../app/agents.ts";
import { DEMO, hasDemo } from "../../app/demo.ts";
import { focusWhenThere } from "../../app/focus.ts";
import { go, pathOf } from "../../app/route.ts";
import { Command } from "../agents/Command.tsx";
import { InstallButton, InstallState } from "../agents/Install.tsx";
import { DemoButton } from "./DemoButton.tsx";

import "../agents/setup.css";

/** Number of agents that are shown at first. */
const FEW = 5;

export default function Setup({ error }: { error: string | undefined }) {
  const [all, setAll] = useState(false);
  useEffect(() => void lookForAgents(), []);
  const known = (agents.value ?? []).filter(({ id }) => id !== DEMO);
  // Those that one press installs come first.
  const list = [...known.filter(({ installsBy }) => installsBy != null), ...known.filter(({ installsBy }) => installsBy == null)];
  const shown = all ? list : list.slice(0, FEW);
  const missing = known.length > 0 && known.every(({ installsBy }) => installsBy == null);
  return (
    <div class="home-none">
      {error !== undefined && (
        <p class="error-text" role="alert">
          {error}
        </p>
      )}
      <ol class="setup-steps" role="list">
        <li>
          <div>
            <h3>Choose an agent</h3>
            {missing && <p class="hint">The daemon’s host has none of the installers: add Node.js with npm, uv or Python, then refresh.</p>}
            <ul role="list" class="card rows">
              {shown.map((agent) => (
                <Choice key={agent.id} agent={agent} />
              ))}
            </ul>
            <p class="setup-more">
              {list.length > shown.length && (
                <button type="button" class="button quiet" onClick={() => setAll(true)}>
                  Show all {list.length}
                </button>
              )}
              <button type="button" class="button quiet" onClick={() => void lookForAgents()}>
                Refresh
              </button>
              <AgentsLink />
            </p>
          </div>
        </li>
        <li>
          <div>
            <h3>Check</h3>
            <p class="hint">When it is installed, a check starts it once and shows whether it works.</p>
          </div>
        </li>
        <li>
          <div>
            <h3>Sign in</h3>
            <p class="hint">If the agent needs an account, its first thread offers the sign-in.</p>
          </div>
        </li>
        <li>
          <div>
            <h3>Start</h3>
            <p class="hint">Choose a folder, and describe a task.</p>
          </div>
        </li>
      </ol>
      <p class="setup-demo">
        Or see what acpd does first. The demo needs no agent and no account.{" "}
        {hasDemo(agents.value) ? <DemoButton /> : <Command text="acpd serve --demo" />}
      </p>
    </div>
  );
}

function Choice({ agent }: { agent: Agent }) {
  const { id, title, description, reason, installsBy } = agent;
  const start = () => {
    lastAgent.value = id;
    justInstalled.value = id;
    focusWhenThere("#prompt");
  };
  return (
    <li class="setup-agent">
      <div class="setup-agent-line">
        <div class="setup-agent-text">
          <strong>{title}</strong>
          {description && <p class="hint">{description}</p>}
        </div>
        <InstallButton agent={agent} onInstalled={start} />
      </div>
      {installsBy == null && reason && <p class="agent-reason hint">{reason}</p>}
      <InstallState agent={agent} />
    </li>
  );
}

function AgentsLink() {
  const to = { view: "agents" } as const;
  return (
    <a
      class="button quiet"
      href={pathOf(to)}
      onClick={(event) => {
        event.preventDefault();
        go(to);
      }}
    >
      Agents
    </a>
  );
}
