/**
 * The policies in force for agents with their own policy. They are requested one by one, after the page is rendered.
 */

import type { Agent, Client } from "@acpd/client";
import { useEffect, useState } from "preact/hooks";

import { agents, lookForAgents } from "../../app/agents.ts";
import { client, online, sentence } from "../../connection/connection.ts";
import { type Layer, layersOf } from "../../state/policy.ts";
import { Layers } from "./Layers.tsx";

/** Maximum number of requested agents: a connection has a limited rate of requests. */
const ASKED = 24;

interface Own {
  readonly agent: Agent;
  readonly layers: readonly Layer[];
}

export function OfAgents() {
  const [own, setOwn] = useState<readonly Own[]>([]);
  const [error, setError] = useState<string>();
  useEffect(() => {
    const now = client.peek();
    if (!now || !online.value) {
      return;
    }
    let over = false;
    const look = async () => {
      await lookForAgents();
      const found: Own[] = [];
      for (const agent of (agents.peek() ?? []).filter(configured).slice(0, ASKED)) {
        if (over) {
          return;
        }
        const layers = await policyOf(now, agent);
        if (layers) {
          found.push({ agent, layers });
        }
      }
      if (!over) {
        setOwn(found);
        setError(undefined);
      }
    };
    look().catch((why: unknown) => !over && setError(sentence(why)));
    return () => void (over = true);
  }, [online.value]);
  return (
    <>
      {error !== undefined && (
        <p class="error-text" role="alert">
          Couldn’t load the policies of agents: {error}
        </p>
      )}
      {own.map(({ agent, layers }, index) => (
        <section key={agent.id} aria-labelledby={`agent-${index}`}>
          <h2 id={`agent-${index}`}>Effective for {agent.title}</h2>
          <Layers layers={layers} agent={agent.id} told={index > 0} />
        </section>
      ))}
    </>
  );
}

/** Policies of agents are part of the configuration. */
const configured = ({ source }: Agent): boolean => source === "config";

async function policyOf(now: Client, { id }: Agent): Promise<Layer[] | undefined> {
  const { agent, daemon } = await now.call("policy/read", { agentType: id });
  return agent == null
    ? undefined
    : layersOf([
        ["agent", agent],
        ["daemon", daemon],
      ]);
}
