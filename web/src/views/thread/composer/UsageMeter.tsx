// The usage of the agent's context, and the cost of the thread.

import type { TokenUsage, UsageSum } from "@acpd/client";

import { costsOf } from "../../../state/usage.ts";
import { count, short } from "../../../text/format.ts";
import { costOf } from "../content/Notice.tsx";

/** The shares of used context at which the meter shows a warning, and an urgent one. */
const [MUCH, NEARLY_ALL] = [0.75, 0.9];

interface UsageMeterProps {
  readonly usage: TokenUsage | null | undefined;
  /** What the thread has used with all sessions of its agent. */
  readonly spent?: UsageSum | null | undefined;
}

export function UsageMeter({ usage, spent }: UsageMeterProps) {
  const { used, size } = usage ?? {};
  // Costs that the daemon cannot count are those of the agent's session.
  const cost = costsOf(spent?.costs) ?? costOf(usage?.cost);
  if (used == null && cost === undefined) return null;
  const share = used != null && size != null && size > 0 ? Math.min(1, used / size) : undefined;
  const state = share === undefined || share < MUCH ? "fine" : share < NEARLY_ALL ? "much" : "full";
  const title = used == null ? "" : `${count(used)}${size == null ? "" : ` of ${count(size)}`} tokens in the context`;
  return (
    <span class="th-usage" title={title}>
      {used != null && (
        <>
          {share !== undefined && (
            <meter
              class="th-usage-meter"
              data-state={state}
              min={0}
              max={1}
              value={share}
              aria-label={title}
              aria-valuetext={`${Math.round(share * 100)}%`}
            />
          )}
          <span>
            {short(used)}
            {size != null && ` / ${short(size)}`}
          </span>
        </>
      )}
      {cost !== undefined && <span title="What the agent says it cost">{cost}</span>}
    </span>
  );
}
