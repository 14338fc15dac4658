/** The agents: installed ones, their commands, their checks, and why others cannot be started. */

import type { Agent } from "@acpd/client";

import { useEffect } from "preact/hooks";

import { agents, agentsError, lookForAgents } from "../../app/agents.ts";
import { makeDefault } from "../../app/configuration.ts";
import { go } from "../../app/route.ts";
import { online, standing } from "../../connection/connection.ts";
import { Head } from "../parts/Head.tsx";
import { AgentRow } from "./AgentRow.tsx";
import { examine } from "./Check.tsx";

import "./agents.css";

export default function Agents() {
  const all = agents.value;
  const { value: who } = standing;
  // Another client may have installed one.
  useEffect(() => void lookForAgents(), []);
  const isOwner = who.name === "in" && who.session.role === "owner";
  const may = isOwner || (who.name === "in" && who.session.role === "operator");
  return (
    <>
      <Head title="Agents">
        <button type="button" class="button" onClick={() => void lookForAgents()}>
          Refresh
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
            <p class="empty">Loading…</p>
          ) : (
            <>
              <Group title="Available" list={all.filter((one) => one.isSetUp)} may={may} isOwner={isOwner} />
              <Group title="Not set up yet" list={all.filter((one) => !one.isSetUp)} may={may} isOwner={isOwner} />
              <p class="hint agents-hint">
                {may
                  ? "A check starts the agent, sends initialize, and stops it. It creates no thread."
                  : "Checking an agent requires the operator role."}
              </p>
            </>
          )}
        </div>
      </div>
    </>
  );
}

function Group({ title, list, may, isOwner }: { title: string; list: readonly Agent[]; may: boolean; isOwner: boolean }) {
  if (list.length === 0) {
    return null;
  }
  const barred = !may ? "Requires the operator role" : !online.value ? "Not connected" : undefined;
  return (
    <section>
      <h2>
        {title} <span class="agents-count">{list.length}</span>
      </h2>
      <ul role="list" class="card rows">
        {list.map((agent) => (
          <AgentRow
            key={agent.id}
            agent={agent}
            check={examine}
            barred={barred}
            onThread={may && agent.isSetUp ? () => go({ view: "home", agent: agent.id }) : undefined}
            onDefault={isOwner && agent.isSetUp && online.value ? () => void makeDefault(agent) : undefined}
          />
        ))}
      </ul>
    </section>
  );
}
