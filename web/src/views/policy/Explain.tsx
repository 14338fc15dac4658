/** Evaluates the policy for a hypothetical call. */

import type { AcpObject, PolicyExplained } from "@acpd/client";
import { useState } from "preact/hooks";

import { client, sentence } from "../../connection/connection.ts";
import { isObject, objects, text } from "../../state/acp.ts";

interface Kind {
  readonly id: string;
  readonly words: string;
  readonly subject: string;
  readonly example: string;
  readonly input: (value: string) => AcpObject;
}

const path = (value: string): AcpObject => ({ rawInput: { path: value }, locations: [{ path: value }] });
const KINDS: readonly Kind[] = [
  { id: "execute", words: "Run a command", subject: "Command", example: "git status && rm -rf x", input: (command) => ({ rawInput: { command } }) },
  { id: "edit", words: "Edit a file", subject: "Path", example: "src/main.rs", input: path },
  { id: "read", words: "Read a file", subject: "Path", example: ".env", input: path },
  { id: "delete", words: "Delete a file", subject: "Path", example: "notes.md", input: path },
  { id: "search", words: "Search", subject: "Path", example: "src", input: path },
  { id: "fetch", words: "Fetch from the network", subject: "Address", example: "https://example.com/", input: (url) => ({ rawInput: { url } }) },
];

export function Explain({ threadId }: { threadId: string }) {
  const [kindId, setKind] = useState("execute");
  const [value, setValue] = useState("");
  const [answer, setAnswer] = useState<PolicyExplained>();
  const [error, setError] = useState<string>();
  const kind = KINDS.find(({ id }) => id === kindId)!;
  const ask = async (event: Event) => {
    event.preventDefault();
    const toolCall = { toolCallId: "explain", kind: kind.id, title: value, ...kind.input(value) };
    try {
      setAnswer(await client.peek()?.call("policy/explain", { threadId, toolCall }));
      setError(undefined);
    } catch (why) {
      setAnswer(undefined);
      setError(sentence(why));
    }
  };
  return (
    <section aria-labelledby="explain">
      <h2 id="explain">Test the policy</h2>
      <form class="explain" onSubmit={(event) => void ask(event)}>
        <div>
          <label class="label" for="explain-kind">
            The agent wants to
          </label>
          <select id="explain-kind" class="field" value={kindId} onChange={(event) => setKind(event.currentTarget.value)}>
            {KINDS.map(({ id, words }) => (
              <option key={id} value={id}>
                {words}
              </option>
            ))}
          </select>
        </div>
        <div class="explain-subject">
          <label class="label" for="explain-subject">
            {kind.subject}
          </label>
          <input
            id="explain-subject"
            class="field mono"
            placeholder={kind.example}
            autocomplete="off"
            spellcheck={false}
            required
            value={value}
            onInput={(event) => setValue(event.currentTarget.value)}
          />
        </div>
        <button type="submit" class="button">
          Ask
        </button>
      </form>
      <div role="status" aria-live="polite">
        {error !== undefined && <p class="error-text">{error}</p>}
        {answer && <Answer {...answer} />}
      </div>
    </section>
  );
}

const EFFECTS: Record<string, string> = { allow: "Allowed", deny: "Denied", ask: "Asks for approval" };

function Answer({ decision, subjects }: PolicyExplained) {
  return (
    <div class="card explained">
      <p class="explained-head">
        <Effect of={decision} />
        {text(decision.reason)}
      </p>
      {subjects.map((subject, index) => {
        const own = isObject(subject.decision) ? subject.decision : {};
        const rules = objects(subject.rules);
        return (
          <div class="explained-part" key={index}>
            <p>
              <Effect of={own} /> {text(own.subject)}
            </p>
            {rules.length === 0 ? (
              <p class="hint">No rule matches.</p>
            ) : (
              <ul role="list">
                {rules.map((rule, at) => (
                  <li key={at}>
                    <code>{text(rule.rule) ?? JSON.stringify(rule)}</code>{" "}
                    <span class="hint">{[text(rule.effect), text(rule.scope), text(rule.source)].filter(Boolean).join(", ")}</span>
                  </li>
                ))}
              </ul>
            )}
          </div>
        );
      })}
    </div>
  );
}

function Effect({ of: decision }: { of: AcpObject }) {
  const effect = text(decision.effect) ?? "ask";
  return <span class={`effect effect-${effect}`}>{EFFECTS[effect] ?? effect}</span>;
}
