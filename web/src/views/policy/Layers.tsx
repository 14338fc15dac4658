/** The policies in force, in order of precedence. */

import { EFFECTS, type Effect, type Layer, PRESETS, type Whose, type Written } from "../../state/policy.ts";
import { visibleLine } from "../../text/bidi-guard.ts";

const TITLES: Record<Whose, string> = { thread: "Thread policy", agent: "Agent policy", daemon: "Global policy" };
const WORDS: Record<Effect, string> = { deny: "Denied", ask: "Asked", allow: "Allowed" };
const REST: Record<Effect, string> = { deny: "are denied", ask: "ask for approval", allow: "are allowed" };
/** Where each policy is written. */
const SOURCES: Record<Whose, string> = { thread: "set for this thread", agent: "from the configuration", daemon: "from the configuration" };
const OWNERS: Record<Whose, string> = { thread: "This thread", agent: "Its agent", daemon: "The configuration" };

export interface LayersProps {
  layers: readonly Layer[];
  agent?: string;
  /** Whether the page already explains the order of precedence. */
  told?: boolean;
}

export function Layers({ layers, agent, told = false }: LayersProps) {
  const given = layers.filter(({ policy }) => policy !== undefined);
  const missing = layers.filter(({ policy }) => policy === undefined);
  const said = layers.some(({ restCounts }) => restCounts);
  return (
    <div class="policy-force">
      {given.length === 0 && (
        <p class="policy-intro">
          No policy is set. You decide whenever an agent asks. Anything that an agent does without asking is allowed.
        </p>
      )}
      {given.length > 1 && !told && (
        <p class="policy-intro">Deny rules always win. Otherwise the first matching policy below decides.</p>
      )}
      {given.length > 0 && (
        <ol role="list" class="card rows">
          {given.map(({ whose, policy, restCounts }) => (
            <li class="policy-layer" key={whose}>
              <h3>
                {TITLES[whose]}
                {whose === "agent" && agent !== undefined && <code>{visibleLine(agent)}</code>}
                <span class="hint">{SOURCES[whose]}</span>
              </h3>
              {policy && <Rules {...policy} restCounts={restCounts} />}
            </li>
          ))}
        </ol>
      )}
      {given.length > 0 && missing.length > 0 && <p class="hint policy-rest">{missing.map(without).join(" ")}</p>}
      {given.length > 0 && !said && <p class="policy-rest">Actions without a matching rule ask for approval.</p>}
    </div>
  );
}

function without({ whose }: Layer): string {
  return `${OWNERS[whose]} has no policy${whose === "daemon" ? " for all agents" : " of its own"}.`;
}

function Rules({ base, rules, rest, restCounts }: Written & { restCounts: boolean }) {
  const about = base !== undefined && Object.hasOwn(PRESETS, base) ? PRESETS[base]!.about : undefined;
  return (
    <>
      {base !== undefined && (
        <p>
          Preset <strong>{base}</strong>
          {about !== undefined && `: ${about}.`}
        </p>
      )}
      {EFFECTS.filter((effect) => rules[effect].length > 0).map((effect) => (
        <div class="policy-rules" key={effect}>
          <span class={`effect effect-${effect}`}>{WORDS[effect]}</span>
          <ul role="list" aria-label={WORDS[effect]}>
            {rules[effect].map((rule, index) => (
              <li key={index}>
                <code>{visibleLine(rule)}</code>
              </li>
            ))}
          </ul>
        </div>
      ))}
      {rest !== undefined &&
        (restCounts ? (
          <p>Actions without a matching rule {REST[rest]}.</p>
        ) : (
          <p class="hint">Its default (other actions {REST[rest]}) is not used: a policy above sets one.</p>
        ))}
    </>
  );
}
