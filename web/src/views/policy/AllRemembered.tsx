/**
 * The remembered answers of the listed threads and of agents, and their revocation. They are requested after the page is rendered:
 * those of threads thread by thread, those of agents at once by owners. Other roles find them through the threads.
 */

import type { Client, RememberedAnswer, Role } from "@acpd/client";
import { useEffect, useState } from "preact/hooks";

import { titleOfAgent } from "../../app/agents.ts";
import { go, pathOf } from "../../app/route.ts";
import { attempt, threads } from "../../app/threads.ts";
import { client, online, sentence } from "../../connection/connection.ts";
import { type Listed, nameOf } from "../../state/threads.ts";
import { Answer } from "./Remembered.tsx";

/** Number of threads that are asked at a time: a connection has a limited rate of requests. */
const ASKED = 20;

interface Found {
  /** The thread that the answer was found with; an agent's answer may have none. */
  readonly thread?: Listed;
  readonly agentType: string;
  readonly answer: RememberedAnswer;
}

export function AllRemembered({ role }: { role: Role }) {
  const [found, setFound] = useState<readonly Found[]>();
  const [error, setError] = useState<string>();
  const [wanted, setWanted] = useState(ASKED);
  const [round, setRound] = useState(0);
  const list = threads.value;
  const isListed = list !== undefined;
  useEffect(() => {
    const now = client.peek();
    if (!now || !online.value || !isListed) {
      return;
    }
    let over = false;
    void look(now, (threads.peek() ?? []).slice(0, wanted), role === "owner", () => over).then(({ all, failure }) => {
      if (!over) {
        setFound(all);
        setError(failure);
      }
    });
    return () => void (over = true);
  }, [online.value, isListed, wanted, round, role]);
  const revoke = async ({ thread, agentType, answer: { id } }: Found) => {
    await attempt("Couldn’t revoke the answer", (now) =>
      thread === undefined
        ? now.call("agent/remembered/revoke", { agentType, id })
        : now.call("policy/remembered/revoke", { threadId: thread.id, id }),
    );
    setRound(round + 1);
  };
  const left = (list?.length ?? 0) - wanted;
  return (
    <section aria-labelledby="remembered">
      <h2 id="remembered">Remembered answers</h2>
      {error !== undefined && (
        <p class="error-text" role="alert">
          Couldn’t load all remembered answers: {error}
        </p>
      )}
      {found?.length === 0 && error === undefined && <p class="policy-intro">No remembered answers.</p>}
      {found && found.length > 0 && (
        <ul role="list" class="card rows">
          {found.map((one) => (
            <Answer key={keyOf(one)} answer={one.answer} role={role} onRevoke={() => void revoke(one)}>
              <AnswerPlace {...one} />
            </Answer>
          ))}
        </ul>
      )}
      {found && left > 0 && (
        <button type="button" class="button quiet" onClick={() => setWanted(wanted + ASKED)}>
          Look in {Math.min(left, ASKED)} more threads
        </button>
      )}
    </section>
  );
}

/** Where an answer applies: its agent, or its thread. */
function AnswerPlace({ thread, agentType, answer }: Found) {
  if (thread === undefined || answer.scope === "agent") {
    return <>: {titleOfAgent(agentType)}</>;
  }
  return (
    <>
      :{" "}
      <a
        href={pathOf({ view: "policy", threadId: thread.id })}
        onClick={(event) => {
          event.preventDefault();
          go({ view: "policy", threadId: thread.id });
        }}
      >
        {nameOf(thread)}
      </a>
    </>
  );
}

/** An answer for an agent is in the list of each of its threads. */
function keyOf({ thread, agentType, answer }: Found): string {
  return thread === undefined || answer.scope === "agent" ? `${agentType} ${answer.id}` : `${thread.id} ${answer.id}`;
}

interface Looked {
  readonly all: readonly Found[];
  /** The first failure, with its thread if it concerns one. */
  readonly failure: string | undefined;
}

/**
 * Asks for the answers of all agents, whose threads may be gone, and looks in each thread. One that cannot be read, such as a thread
 * that was deleted meanwhile, does not hide the others.
 */
async function look(now: Client, list: readonly Listed[], isOwner: boolean, isOver: () => boolean): Promise<Looked> {
  const found = new Map<string, Found>();
  let failure: string | undefined;
  if (isOwner) {
    try {
      const { data } = await now.call("agent/remembered/list", {});
      for (const { agentType, answers } of data) {
        for (const answer of answers) {
          const one = { agentType, answer };
          found.set(keyOf(one), one);
        }
      }
    } catch (why) {
      failure = sentence(why);
    }
  }
  for (const thread of list) {
    if (isOver()) {
      break;
    }
    try {
      const { data } = await now.call("policy/remembered/list", { threadId: thread.id });
      for (const answer of data) {
        const one = { thread, agentType: thread.agentType, answer };
        if (!found.has(keyOf(one))) {
          found.set(keyOf(one), one);
        }
      }
    } catch (why) {
      failure ??= `${nameOf(thread)}: ${sentence(why)}`;
    }
  }
  return { all: [...found.values()], failure };
}
