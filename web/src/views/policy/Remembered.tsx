/** Remembered answers, and their revocation. */

import type { RememberedAnswer, Role } from "@acpd/client";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

import { attempt } from "../../app/threads.ts";
import { client, online, sentence } from "../../connection/connection.ts";
import { mayRevoke, scopeWords } from "../../state/scopes.ts";
import { visibleLine } from "../../text/bidi-guard.ts";

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

interface AnswerProps {
  answer: RememberedAnswer;
  role: Role;
  onRevoke: () => void;
  /** Where it applies, if the page is about more than one thread. */
  children?: ComponentChildren;
}

/** One remembered answer, and its revocation. */
export function Answer({ answer, role, onRevoke, children }: AnswerProps) {
  return (
    <li class="remembered">
      <span class={`effect effect-${answer.allow ? "allow" : "deny"}`}>{answer.allow ? "Allowed" : "Denied"}</span>
      <code class="truncate" title={answer.rule}>
        {visibleLine(answer.rule)}
      </code>
      <span class="hint">
        {[...bounds(answer), scopeWords(answer.scope)].join(", ")}
        {children}
      </span>
      {mayRevoke(role, answer.scope) && (
        <button type="button" class="button" aria-label={`Revoke ${answer.rule}`} onClick={onRevoke}>
          Revoke
        </button>
      )}
    </li>
  );
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
            <Answer key={answer.id} answer={answer} role={role} onRevoke={() => void revoke(answer.id)} />
          ))}
        </ul>
      )}
    </section>
  );
}
