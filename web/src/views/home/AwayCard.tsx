/** What happened in all threads while the user was away: a line, which opens to a line for each thread. */

import type { Client, Resolved } from "@acpd/client";
import { useEffect, useState } from "preact/hooks";

import { away, awayThreads } from "../../app/away.ts";
import { go, pathOf } from "../../app/route.ts";
import { client } from "../../connection/connection.ts";
import { countsOf, unseenWords } from "../../state/away.ts";
import { named } from "../../state/fold-items.ts";
import { endOf, type Listed, nameOf } from "../../state/threads.ts";
import { questionLine, waitsFor } from "../../state/waiting-question.ts";
import { count, dayAndClock } from "../../text/format.ts";
import { StatusMark } from "../parts/StatusMark.tsx";
import { Icon } from "../parts/Icon.tsx";

import "./away.css";

/** Maximum number of threads that are listed, and read. */
const MOST = 20;
/** Number of turns that are read of each. */
const TURNS = 10;
/** Number of threads that are read at the same time. */
const AT_ONCE = 3;

export default function AwayCard() {
  const [open, setOpen] = useState(false);
  const since = away.value?.since;
  const threads = awayThreads.value;
  const words = useSummaries(open, threads, since ?? 0);
  if (since === undefined || threads.length === 0) {
    return null;
  }
  const shown = threads.slice(0, MOST);
  return (
    <section class="card away" aria-labelledby="away">
      <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <h2 id="away">While you were away</h2>
          <p>{countsOf(threads).join(" · ")}</p>
          <p class="hint">since {dayAndClock(since)}</p>
        </summary>
        <ul role="list" class="rows">
          {shown.map((thread) => (
            <li key={thread.id}>
              <Entry thread={thread} words={words.get(thread.id)} />
            </li>
          ))}
        </ul>
        {threads.length > shown.length && <p class="hint away-more">and {count(threads.length - shown.length)} more</p>}
      </details>
      <button type="button" class="button quiet icon" aria-label="Dismiss" title="Dismiss" onClick={() => (away.value = undefined)}>
        <Icon name="close" />
      </button>
    </section>
  );
}

function Entry({ thread, words }: { thread: Listed; words: readonly string[] | undefined }) {
  const to = { view: "thread", threadId: thread.id } as const;
  const { question } = thread;
  const said = words === undefined ? [endOf(thread) ?? ""] : words;
  return (
    <a
      class="away-entry"
      href={pathOf(to)}
      onClick={(event) => {
        if (!event.metaKey && !event.ctrlKey && !event.shiftKey) {
          event.preventDefault();
          go(to);
        }
      }}
    >
      <StatusMark live={thread.live} says={thread.live === "waiting" ? waitsFor(question) : endOf(thread)} />
      <span class="away-text">
        <strong class="truncate" dir="auto">
          {nameOf(thread)}
        </strong>
        {thread.live === "waiting" && question && <span class="away-question">{questionLine(question, thread.cwd)}</span>}
        <span class="hint">{said.filter(Boolean).join(" · ")}</span>
      </span>
    </a>
  );
}

/** Reads the first threads once the card is open, a few at a time. Returns what happened in each, as it arrives. */
function useSummaries(open: boolean, threads: readonly Listed[], since: number): ReadonlyMap<string, readonly string[]> {
  const [words, setWords] = useState<ReadonlyMap<string, readonly string[]>>(new Map());
  const ids = threads.slice(0, MOST).map(({ id }) => id);
  useEffect(() => {
    const now = client.peek();
    if (!open || !now) {
      return;
    }
    let over = false;
    const left = ids.filter((id) => !words.has(id));
    const work = async () => {
      for (let id = left.shift(); id !== undefined && !over; id = left.shift()) {
        const found = await summary(now, id, since).catch(() => undefined);
        if (found && !over) {
          setWords((before) => new Map([...before, [id, found]]));
        }
      }
    };
    for (let worker = 0; worker < AT_ONCE; worker++) {
      void work();
    }
    return () => void (over = true);
  }, [open, ids.join()]);
  return words;
}

async function summary(now: Client, threadId: string, since: number): Promise<string[]> {
  const { thread } = await now.call("thread/read", { threadId, includeTurns: true, limit: TURNS });
  const turns = (thread.turns ?? []).map((turn) => ({ ...turn, items: turn.items?.map(named) }));
  const answers: Resolved[] = turns.flatMap((turn) => turn.answers ?? []);
  const more = thread.cursor != null && (turns[0]?.startedAt ?? 0) > since;
  return [...unseenWords(turns, answers, { at: since }), ...(more ? ["and more before"] : [])];
}
