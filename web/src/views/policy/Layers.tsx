/** The policies in force, in order of precedence. */

import { EFFECTS, type Effect, type Layer, PRESETS, type Whose, type Written } from "../../state/policy.ts";
import { visibleLine } from "../../text/bidi-guard.ts";

const TITLES: Record<Whose, string> = { thread: "Thread policy", agent: "Agent policy", daemon: "Daemon policy" };
const WORDS: Record<Effect, string> = { deny: "Denied", ask: "Asked", allow: "Allowed" };
const REST: Record<Effect, string> = { deny: "are denied", ask: "ask for approval", allow: "are allowed" };

export interface LayersProps {
  layers: readonly Layer[];
  agent?: string;
  /** Whether the page already explains the order of precedence. */
  told?: boolean;
}

export function Layers({ layers, agent, told = false }: LayersProps) {
  const any = layers.some(({ policy }) => policy !== undefined);
  const said = layers.some(({ restCounts }) => restCounts);
  return (
    <div class="policy-force">
      {!any && (
        <p class="policy-intro">
          No policy is set. You decide whenever an agent asks. Anything that an agent does without asking is allowed.
        </p>
      )}
      {any && !told && layers.length > 1 && (
        <p class="policy-intro">
          Deny rules always win. Otherwise the first matching policy below decides.
        </p>
      )}
      <ol role="list" class="card rows">
        {layers.map(({ whose, policy, restCounts }) => (
          <li class="policy-layer" key={whose}>
            <h3>
              {TITLES[whose]}
              {whose === "agent" && agent !== undefined && <code>{visibleLine(agent)}</code>}
            </h3>
            {policy === undefined ? (
              <p class="hint">None.</p>
            ) : (
              <Rules {...policy} restCounts={restCounts} />
            )}
          </li>
        ))}
      </ol>
      {any && !said && <p class="policy-rest">Actions without a matching rule ask for approval.</p>}
    </div>
  );
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
