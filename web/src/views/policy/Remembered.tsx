/** Remembered answers, and their revocation. */

import type { RememberedAnswer, Role } from "@acpd/client";
import { useEffect, useState } from "preact/hooks";

import { attempt } from "../../app/threads.ts";
import { client, online, sentence } from "../../connection/connection.ts";
import { visibleLine } from "../../text/bidi-guard.ts";

const SCOPES: Record<string, string> = {
  session: "until the agent’s session ends",
  thread: "in this thread",
  agent: "in every thread of this agent",
};

/** Describes an answer's scope, besides its rule. */
export function bounds({ cwd, line, arguments: input, call }: RememberedAnswer): string[] {
  const parts = [
    cwd != null && `run in ${visibleLine(cwd)}`,
    line != null && "as a part of the same command line",
    input != null && "with the same arguments",
    call != null && "of the same kind and tool, with the same locations and changes",
  ];
  return parts.filter((part) => part !== false);
}

/** A role that may create such an answer may revoke it: for all threads of an agent, only the owner. */
function mayRevoke(role: Role, scope: string): boolean {
  return scope === "agent" ? role === "owner" : role !== "observer";
}

export function Remembered({ threadId, role }: { threadId: string; role: Role }) {
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
    await attempt("Couldn’t revoke the answer", (now) => now.call("policy/remembered/revoke", { threadId, id }));
    load();
  };
  return (
    <section aria-labelledby="remembered">
      <h2 id="remembered">Remembered answers</h2>
      {error !== undefined && <p class="error-text">{error}</p>}
      {list?.length === 0 && <p class="policy-intro">No remembered answers.</p>}
      {list && list.length > 0 && (
        <ul role="list" class="card rows">
          {list.map((answer) => (
            <li class="remembered" key={answer.id}>
              <span class={`effect effect-${answer.allow ? "allow" : "deny"}`}>{answer.allow ? "Allowed" : "Denied"}</span>
              <code class="truncate" title={answer.rule}>
                {answer.rule}
              </code>
              <span class="hint">{[...bounds(answer), SCOPES[answer.scope] ?? answer.scope].join(", ")}</span>
              {mayRevoke(role, answer.scope) && (
                <button
                  type="button"
                  class="button"
                  aria-label={`Revoke ${answer.rule}`}
                  onClick={() => void revoke(answer.id)}
                >
                  Revoke
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
