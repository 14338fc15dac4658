/** Answers that hold for more than their question, and taking them back. */

import type { RememberedAnswer } from "@acpd/client";
import { useEffect, useState } from "preact/hooks";

import { attempt } from "../../app/threads.ts";
import { client, online, sentence } from "../../connection/connection.ts";

const SCOPES: Record<string, string> = {
  session: "until the agent’s session ends",
  thread: "in this thread",
  agent: "in every thread of this agent",
};

export function Remembered({ threadId, owner }: { threadId: string; owner: boolean }) {
  const [list, setList] = useState<readonly RememberedAnswer[]>();
  const [error, setError] = useState<string>();
  const load = () => {
    client.peek()?.call("policy/remembered/list", { threadId }).then(
      ({ data }) => setList(data),
      (why: unknown) => setError(sentence(why)),
    );
  };
  useEffect(() => {
    if (online.value) {
      load();
    }
  }, [threadId, online.value]);
  const revoke = async (id: number) => {
    await attempt("It still holds", (now) => now.call("policy/remembered/revoke", { threadId, id }));
    load();
  };
  return (
    <section aria-labelledby="remembered">
      <h2 id="remembered">Answers that hold</h2>
      {error !== undefined && <p class="error-text">{error}</p>}
      {list?.length === 0 && <p class="policy-intro">None: every question was answered for itself alone.</p>}
      {list && list.length > 0 && (
        <ul role="list" class="card rows">
          {list.map(({ id, allow, rule, scope }) => (
            <li class="remembered" key={id}>
              <span class={`effect effect-${allow ? "allow" : "deny"}`}>{allow ? "Allowed" : "Denied"}</span>
              <code class="truncate" title={rule}>
                {rule}
              </code>
              <span class="hint">{SCOPES[scope] ?? scope}</span>
              {owner && (
                <button type="button" class="button" aria-label={`Take back ${rule}`} onClick={() => void revoke(id)}>
                  Take back
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
