// Notices for the user, and the outcomes of turns.

import type { Notice, Turn } from "@acpd/client";

import { visible, visibleLine, visibleWords } from "../../../text/bidi-guard.ts";
import { isObject, number, text } from "../../../state/acp.ts";
import { isLongWait, timeOf } from "../../../state/turn-time.ts";
import { Fold } from "./Fold.tsx";
import { count, duration, money, short, words } from "../../../text/format.ts";
import { who } from "../../../text/who.ts";
import { Icon } from "./Icon.tsx";
import { OpenFolder } from "./OpenFolder.tsx";
import { Json } from "./RawJson.tsx";
import { useThread } from "./context.ts";

const ICONS = { info: "info", warning: "warning", error: "cross" } as const;

export function NoticeView({ notice, details = [] }: { notice: Notice; details?: readonly Notice[] }) {
  const { code, level, message, detail, folder, update, by } = notice;
  const { openFolder, ownedAgent } = useThread();
  const more = detail != null || update != null || details.length > 0;
  const said = (
    <>
      <Icon name={ICONS[level] ?? "info"} />
      <span class="th-notice-text">
        {visibleWords(message)}
        {by != null && <span class="th-quiet"> ({who(by)})</span>}
      </span>
    </>
  );
  return (
    <div class={`th-notice th-notice-${level}`} role={level === "error" ? "alert" : "note"} data-code={code}>
      {more ? (
        <Fold id={`notice/${notice.seq}`} summary={said}>
          {() => (
            <>
              {details.map((one) => (
                <div key={one.seq} class="th-notice-detail">
                  <p class="th-quiet">{visibleWords(one.message)}</p>
                  {one.detail != null && one.detail !== "" && <Json value={one.detail} what="detail" />}
                </div>
              ))}
              {detail != null && <Json value={detail} what="detail" />}
              {update != null && <Json value={update} what="the agent's words" />}
            </>
          )}
        </Fold>
      ) : (
        <p class="th-notice-line">{said}</p>
      )}
      {folder != null && openFolder !== undefined && <OpenFolder folder={folder} agent={code === "sandboxDenied" ? ownedAgent : undefined} onOpen={openFolder} />}
    </div>
  );
}

const STOPS: Record<string, string> = {
  end_turn: "Done",
  max_tokens: "Stopped: the limit of tokens is reached",
  max_turn_requests: "Stopped: the limit of requests in a turn is reached",
  refusal: "The agent refused",
  cancelled: "Stopped",
};

type Ended = Pick<Turn, "status" | "stopReason" | "error" | "tokenUsage" | "startedAt" | "completedAt" | "waitedMs">;

interface TurnEndProps {
  turn: Ended;
  timed?: boolean;
  /** What the agent wrote before it exited, which ended the turn. */
  lastWords?: string | undefined;
  /** Whether a card below says why the turn failed, and signs in. */
  wantsSignIn?: boolean;
}

/** The outcome of a turn: reason, duration, usage. A turn that is done needs no words if its duration is shown above. */
export function TurnEnd({ turn, timed = false, lastWords, wantsSignIn = false }: TurnEndProps) {
  const usage = usageOf(turn.tokenUsage);
  const time = !timed && turn.completedAt != null ? timeOf(turn, turn.completedAt) : undefined;
  const stop = wantsSignIn ? "Waiting for sign-in" : stopped(turn);
  const said = timed && stop === STOPS.end_turn ? undefined : stop;
  if (said === undefined && usage.length === 0) return null;
  return (
    <footer class="th-turn-end" data-status={turn.status}>
      {turn.error != null && !wantsSignIn && (
        <div class="th-turn-error" role={turn.status === "interrupted" ? "note" : "alert"}>
          <Icon name="warning" />
          <div class="th-turn-why">
            <p>{visible(turn.error)}</p>
            {lastWords !== undefined && (
              <Fold id={`last-words/${turn.completedAt}`} summary="What the agent wrote before it ended">
                {() => <pre class="th-last-words" tabIndex={0}>{visible(lastWords)}</pre>}
              </Fold>
            )}
          </div>
        </div>
      )}
      <p class="th-turn-facts">
        {said !== undefined && <span class="th-turn-stop">{said}</span>}
        {time !== undefined && <span>{duration(time.worked)}</span>}
        {time !== undefined && isLongWait(time) && (
          <span title="The time in which a question waited for its answer">waited {duration(time.waited)}</span>
        )}
        {usage.map(({ said, title }) => (
          <span key={title} title={title}>
            {said}
          </span>
        ))}
      </p>
    </footer>
  );
}

function stopped({ status, stopReason, startedAt, error }: Ended): string {
  if (status === "failed") return "Failed";
  if (status === "interrupted" && startedAt == null) return "Not sent";
  if (status === "interrupted") return error != null ? "Interrupted" : "Stopped";
  if (status === "queued") return "Queued";
  if (stopReason != null && stopReason !== "") {
    return Object.hasOwn(STOPS, stopReason) ? (STOPS[stopReason] ?? "") : `Stopped: ${words(visibleLine(stopReason))}`;
  }
  return status === "refused" ? "The agent refused" : status === "limited" ? "Stopped by a limit" : "Done";
}

/** Formats tokens and cost, if the agent reports them. */
export function usageOf(usage: unknown): { said: string; title: string }[] {
  if (!isObject(usage)) return [];
  const facts: { said: string; title: string }[] = [];
  const tokens = (key: string, said: (amount: string) => string, title: string) => {
    const amount = number(usage[key]);
    if (amount !== undefined && amount > 0) facts.push({ said: said(short(amount)), title: `${count(amount)} ${title}` });
  };
  tokens("inputTokens", (amount) => `${amount} in`, "tokens read");
  tokens("outputTokens", (amount) => `${amount} out`, "tokens written");
  tokens("thoughtTokens", (amount) => `${amount} thought`, "tokens of thought");
  tokens("cachedReadTokens", (amount) => `${amount} cached`, "tokens read from the cache");
  tokens("cachedWriteTokens", (amount) => `${amount} to cache`, "tokens written to the cache");
  if (facts.length === 0) tokens("totalTokens", (amount) => `${amount} tokens`, "tokens");
  const cost = costOf(usage.cost);
  if (cost !== undefined) facts.push({ said: cost, title: "What the agent says it cost" });
  return facts;
}

/** Formats ACP's `Cost`. */
export function costOf(cost: unknown): string | undefined {
  if (!isObject(cost)) return undefined;
  const amount = number(cost.amount);
  return amount === undefined ? undefined : money(amount, text(cost.currency) ?? "USD");
}
