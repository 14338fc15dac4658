/** The agents: what is installed, how it is run, and why the others cannot be started. */

import type { Agent } from "@acpd/client";

import { agents, agentsError, lookForAgents } from "../../app/agents.ts";
import { go } from "../../app/route.ts";
import { standing } from "../../connection/connection.ts";
import { Head } from "../shell/Head.tsx";

import "./agents.css";

const SOURCES: Record<string, string> = {
  config: "configured",
  registry: "from the registry",
  installed: "installed here",
};
const RUNS: Record<string, string> = {
  path: "its own program",
  installed: "installed by acpd",
  npx: "run by npx",
  uvx: "run by uvx",
};

export function Agents() {
  const all = agents.value;
  return (
    <>
      <Head title="Agents">
        <button type="button" class="button" onClick={() => void lookForAgents()}>
          Look again
        </button>
      </Head>
      <div class="page" tabIndex={0} role="region" aria-label="Agents">
        <div class="page-column">
          {agentsError.value !== undefined && (
            <p class="error-text" role="alert">
              {agentsError.value}
            </p>
          )}
          {all === undefined ? (
            <p class="empty">Looking…</p>
          ) : (
            <>
              <Group title="Ready" list={all.filter((one) => one.installed)} />
              <Group title="Missing" list={all.filter((one) => !one.installed)} />
              <p class="hint agents-hint">
                <code>acpd doctor</code> looks closer: it starts each agent and says what is wrong with it.
              </p>
            </>
          )}
        </div>
      </div>
    </>
  );
}

function Group({ title, list }: { title: string; list: readonly Agent[] }) {
  const { value: who } = standing;
  const may = who.name === "in" && (who.session.role === "owner" || who.session.role === "operator");
  if (list.length === 0) {
    return null;
  }
  return (
    <section>
      <h2>
        {title} <span class="agents-count">{list.length}</span>
      </h2>
      <ul role="list" class="card rows">
        {list.map(({ id, title: name, description, version, source, runs, installed, reason }) => (
          <li class="agent" key={id}>
            <div class="agent-text">
              <p class="agent-name">
                <strong>{name}</strong>
                {name !== id && <code>{id}</code>}
                {version && <span class="hint">{version}</span>}
              </p>
              {description && <p class="agent-about">{description}</p>}
              {reason && <p class="agent-reason">{reason}</p>}
              <p class="hint">{[SOURCES[source] ?? source, runs && (RUNS[runs] ?? runs)].filter(Boolean).join(", ")}</p>
            </div>
            {installed && may && (
              <button
                type="button"
                class="button"
                aria-label={`New thread with ${name}`}
                onClick={() => go({ view: "home", agent: id })}
              >
                New thread
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
