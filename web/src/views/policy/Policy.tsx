/** The policy that holds for a thread, what it would say of a call, and who has decided what so far. */

import { useEffect, useState } from "preact/hooks";

import { go, pathOf } from "../../app/route.ts";
import { attempt, threads } from "../../app/threads.ts";
import { client, online, sentence, standing } from "../../connection/connection.ts";
import { nameOf } from "../../state/threads.ts";
import { Icon } from "../parts/Icon.tsx";
import { Head } from "../shell/Head.tsx";
import { Audit } from "./Audit.tsx";
import { Explain } from "./Explain.tsx";
import { Remembered } from "./Remembered.tsx";

import "./policy.css";

const PRESETS = ["standard", "restricted", "readonly", "permissive"];

export function Policy({ threadId }: { threadId?: string }) {
  const list = threads.value ?? [];
  if (threadId === undefined) {
    return (
      <>
        <Head title="Policy" />
        <div class="page" tabIndex={0} role="region" aria-label="Policy">
          <div class="page-column">
            <p class="policy-intro">
              A policy says what agents may do without asking. It holds for the daemon, an agent, or one thread; the
              strictest word about a call counts. Pick a thread to see what holds in it.
            </p>
            {list.length === 0 && <p class="empty">No threads yet.</p>}
            <ul role="list" class="card rows">
              {list.slice(0, 30).map((thread) => (
                <li key={thread.id}>
                  <a
                    class="policy-pick"
                    href={pathOf({ view: "policy", threadId: thread.id })}
                    onClick={(event) => {
                      event.preventDefault();
                      go({ view: "policy", threadId: thread.id });
                    }}
                  >
                    <span class="truncate">{nameOf(thread)}</span>
                    <span class="hint">{thread.agentType}</span>
                  </a>
                </li>
              ))}
            </ul>
          </div>
        </div>
      </>
    );
  }
  return <OfThread threadId={threadId} />;
}

function OfThread({ threadId }: { threadId: string }) {
  const [name, setName] = useState<string>();
  const [policy, setPolicy] = useState<unknown>();
  const [error, setError] = useState<string>();
  const [round, setRound] = useState(0);
  const { value: who } = standing;
  const owner = who.name === "in" && who.session.role === "owner";
  useEffect(() => {
    if (!online.value) {
      return;
    }
    client.peek()?.call("thread/read", { threadId }).then(
      ({ thread }) => {
        setName(nameOf(thread));
        setPolicy(thread.policy ?? null);
        setError(undefined);
      },
      (why: unknown) => setError(sentence(why)),
    );
  }, [threadId, online.value, round]);
  const set = async (preset: string) => {
    const wanted = preset === "" ? null : preset;
    await attempt("The policy was not changed", (now) => now.call("thread/policy/set", { threadId, policy: wanted }));
    setRound(round + 1);
  };
  const preset = typeof policy === "string" ? policy : presetOf(policy);
  return (
    <>
      <Head title="Policy and decisions" sub={name}>
        <a
          class="button"
          href={pathOf({ view: "thread", threadId })}
          onClick={(event) => {
            event.preventDefault();
            go({ view: "thread", threadId });
          }}
        >
          <Icon name="back" size={14} />
          Thread
        </a>
      </Head>
      <div class="page" tabIndex={0} role="region" aria-label="Policy and decisions">
        <div class="page-column">
          {error !== undefined && (
            <p class="error-text" role="alert">
              {error}
            </p>
          )}
          <section aria-labelledby="own">
            <h2 id="own">This thread’s policy</h2>
            {policy === null && <p class="policy-intro">It has none of its own: the agent’s and the daemon’s hold.</p>}
            {policy != null && preset === undefined && (
              <pre class="policy-own card">{JSON.stringify(policy, null, 2)}</pre>
            )}
            {owner ? (
              <div class="policy-set">
                <label class="label" for="preset">
                  Preset
                </label>
                <select
                  id="preset"
                  class="field"
                  value={preset ?? (policy == null ? "" : "own")}
                  disabled={policy === undefined}
                  onChange={(event) => void set(event.currentTarget.value)}
                >
                  <option value="">None of its own</option>
                  {policy != null && preset === undefined && <option value="own">Its own rules</option>}
                  {PRESETS.map((one) => (
                    <option key={one} value={one}>
                      {one}
                    </option>
                  ))}
                </select>
              </div>
            ) : (
              preset !== undefined && <p>{preset}</p>
            )}
          </section>
          <Explain threadId={threadId} />
          <Remembered threadId={threadId} owner={owner} />
          <Audit threadId={threadId} />
        </div>
      </div>
    </>
  );
}

/** A policy that is nothing but a preset. */
function presetOf(policy: unknown): string | undefined {
  if (typeof policy !== "object" || policy === null) {
    return undefined;
  }
  const { base, ...rest } = policy as Record<string, unknown>;
  const empty = Object.values(rest).every((value) => value == null || (Array.isArray(value) && value.length === 0));
  return typeof base === "string" && empty && PRESETS.includes(base) ? base : undefined;
}
