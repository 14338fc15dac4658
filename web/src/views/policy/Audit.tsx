/** The decisions in a thread and their authors, from its log. */

import { useEffect, useState } from "preact/hooks";

import { online, sentence } from "../../connection/connection.ts";
import { readLog } from "../../connection/read-log.ts";
import { type AuditEntry, auditor } from "../../state/audit.ts";
import { visibleLine } from "../../text/bidi-guard.ts";
import { dateAndTime, dayAndClock } from "../../text/format.ts";

const WORDS: Record<AuditEntry["effect"], string> = {
  allow: "Allowed",
  deny: "Denied",
  void: "Void",
  note: "Noted",
};

/** Number of initially visible entries. */
const SHOWN = 200;

export function Audit({ threadId }: { threadId: string }) {
  const [entries, setEntries] = useState<readonly AuditEntry[]>();
  const [error, setError] = useState<string>();
  const [round, setRound] = useState(0);
  const [shown, setShown] = useState(SHOWN);
  useEffect(() => {
    if (!online.value) {
      return;
    }
    const over = new AbortController();
    const look = auditor();
    const found: AuditEntry[] = [];
    readLog(
      threadId,
      (event) => {
        const entry = look(event);
        if (entry) {
          found.push(entry);
        }
      },
      over.signal,
    ).then(
      () => {
        if (!over.signal.aborted) {
          setEntries(found.reverse());
          setError(undefined);
        }
      },
      (why: unknown) => !over.signal.aborted && setError(sentence(why)),
    );
    return () => over.abort();
  }, [threadId, online.value, round]);
  return (
    <section aria-labelledby="audit">
      <div class="audit-head">
        <h2 id="audit">Decisions</h2>
        <button type="button" class="button quiet" onClick={() => setRound(round + 1)}>
          Refresh
        </button>
      </div>
      {error !== undefined && (
        <p class="error-text" role="alert">
          {error}
        </p>
      )}
      {entries === undefined && error === undefined && <p class="empty">Reading the log…</p>}
      {entries?.length === 0 && <p class="policy-intro">No decisions yet.</p>}
      {entries && entries.length > 0 && (
        <ol role="list" class="card rows">
          {entries.slice(0, shown).map(({ seq, ts, effect, subject, who, why }) => (
            <li class="audit" key={seq}>
              <span class={`effect effect-${effect}`}>{WORDS[effect]}</span>
              <div class="audit-text">
                <p class="audit-subject">{visibleLine(subject)}</p>
                <p class="hint">
                  {who && <>by {who}</>}
                  {why && (
                    <>
                      {who && " · "}
                      <code>{visibleLine(why)}</code>
                    </>
                  )}
                </p>
              </div>
              <time class="hint" dateTime={new Date(ts).toISOString()} title={dateAndTime(ts)}>
                {dayAndClock(ts)}
              </time>
            </li>
          ))}
        </ol>
      )}
      {entries && entries.length > shown && (
        <button type="button" class="button quiet" onClick={() => setShown(shown + SHOWN)}>
          Show more of {entries.length}
        </button>
      )}
    </section>
  );
}
