// The line between what the user has seen of a thread and what happened while the user was away.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { leavePlace, leftPlace } from "../../app/away.ts";
import { type AwayRow, type Left, unseenWords, withAwayRow } from "../../state/away.ts";
import type { ShownRow } from "../../state/outline.ts";
import type { ThreadState } from "../../state/thread.ts";
import { dayAndClock } from "../../text/format.ts";

interface Mark {
  readonly left: Left;
  readonly line: AwayRow;
}

/** Returns the rows with the line, and stores the user's place when the user leaves. */
export function useAwayLine(thread: ThreadState, shown: readonly ShownRow[]): readonly ShownRow[] {
  const latest = useRef(thread);
  latest.current = thread;
  const [mark, setMark] = useState(() => markOf(thread));
  useEffect(() => {
    let hidden = document.hidden;
    const leave = () => {
      const { threadId, seq, turns } = latest.current;
      const last = turns.findLast(({ items }) => items.length > 0);
      leavePlace(threadId, { seq, itemId: last?.items.at(-1)?.itemId, permitted: last?.permitted ?? undefined });
    };
    const onChange = () => {
      if (document.hidden) {
        leave();
      } else if (hidden) {
        setMark((before) => markOf(latest.current) ?? before);
      }
      hidden = document.hidden;
    };
    const onEnd = () => document.hidden || leave();
    document.addEventListener("visibilitychange", onChange);
    addEventListener("pagehide", onEnd);
    return () => {
      document.removeEventListener("visibilitychange", onChange);
      removeEventListener("pagehide", onEnd);
      onEnd();
    };
  }, [thread.threadId]);
  return useMemo(
    () => (mark === undefined ? shown : withAwayRow(shown, mark.left, mark.line, latest.current.turns)),
    [shown, mark],
  );
}

/** The words count what has happened until now: what follows, the user sees. */
function markOf({ threadId, seq, turns, answers, questions }: ThreadState): Mark | undefined {
  const left = leftPlace(threadId);
  if (left === undefined || (left.seq ?? 0) >= seq) return undefined;
  const words = unseenWords(turns, answers, left, questions.length);
  return { left, line: { kind: "away", key: "away", at: left.at, words } };
}

export function AwayLine({ row: { at, words } }: { row: AwayRow }) {
  return (
    <div class="th-away">
      <p class="th-away-title">
        <span>New since you left, {dayAndClock(at)}</span>
      </p>
      {words.length > 0 && <p class="th-away-words">{words.join(" · ")}</p>}
    </div>
  );
}
