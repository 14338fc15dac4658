/** The results of the search, by thread. */

import type { TextFound, TextKind } from "@acpd/client";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import { now } from "../../app/clock.ts";
import { go, pathOf, type Route } from "../../app/route.ts";
import { found, loadMoreHits, searching } from "../../app/search.ts";
import { online } from "../../connection/connection.ts";
import { age, type HitGroup } from "../../state/threads.ts";
import { visibleOrder } from "../../text/bidi-guard.ts";
import { findWords, wordsOf } from "../../text/find-words.ts";
import { ThreadPlace } from "../parts/ThreadPlace.tsx";

/** Number of hits of a thread that are shown at first. */
const FEW = 3;

const KINDS: Record<TextKind, string> = {
  userMessage: "You",
  agentMessage: "Agent",
  toolCall: "Tool",
  command: "Command",
  path: "File",
};

export default function Found() {
  const results = found.value;
  if (results === undefined) {
    return <p class="empty">{online.value ? "Searching…" : "Waiting for the daemon…"}</p>;
  }
  const { groups, error, more } = results;
  return (
    <>
      {error !== undefined && <p class="empty error-text">{error}</p>}
      <p class="sr-only" role="status">
        {groups.length === 0 ? "Nothing found" : `Found in ${groups.length} ${groups.length === 1 ? "thread" : "threads"}`}
      </p>
      {groups.length === 0 && !searching.value && error === undefined && <p class="empty">Nothing found for “{results.for}”.</p>}
      {groups.map((group) => (
        <Group key={group.threadId} group={group} words={results.for} />
      ))}
      {more && (
        <button type="button" class="button quiet side-more" onClick={() => void loadMoreHits()}>
          Show more
        </button>
      )}
    </>
  );
}

function Group({ group, words }: { group: HitGroup; words: string }) {
  const { threadId, name, thread, hits, at } = group;
  const [all, setAll] = useState(false);
  const shown = all ? hits : hits.slice(0, FEW);
  return (
    <section class="hits" aria-label={name}>
      <Link class="row-link hits-head" to={{ view: "thread", threadId }}>
        <span class="row-text">
          <span class="row-head">
            <bdi class="row-name truncate">
              <Marked text={name} words={words} />
            </bdi>
            <time class="row-age" dateTime={new Date(at).toISOString()}>
              {age(at, now.value)}
            </time>
          </span>
          {thread && (
            <span class="row-sub">
              <span class="truncate">
                <ThreadPlace agentType={thread.agentType} cwd={thread.cwd} brief />
              </span>
            </span>
          )}
        </span>
      </Link>
      <ul role="list">
        {shown.map((hit) => (
          <li key={hit.seq}>
            <Hit hit={hit} words={words} />
          </li>
        ))}
      </ul>
      {hits.length > shown.length && (
        <button type="button" class="button quiet hits-more" onClick={() => setAll(true)}>
          {hits.length - shown.length} more
        </button>
      )}
    </section>
  );
}

function Hit({ hit, words }: { hit: TextFound; words: string }) {
  const to = { view: "thread", threadId: hit.threadId, item: hit.itemId ?? undefined, find: words } as const;
  return (
    <Link class="row-link is-hit" to={to}>
      <span class="row-snippet" dir="auto">
        <span class="row-kind">{KINDS[hit.kind]}:</span>{" "}
        {hit.snippet.map((piece, index) => (piece.hit ? <mark key={index}>{visibleOrder(piece.text)}</mark> : visibleOrder(piece.text)))}
      </span>
    </Link>
  );
}

function Link({ to, class: name, children }: { to: Route; class: string; children: ComponentChildren }) {
  return (
    <a
      class={name}
      href={pathOf(to)}
      data-rove
      onClick={(event) => {
        if (!event.metaKey && !event.ctrlKey && !event.shiftKey) {
          event.preventDefault();
          go(to);
        }
      }}
    >
      {children}
    </a>
  );
}

/** A name with the searched words marked. */
function Marked({ text, words }: { text: string; words: string }) {
  const pieces: ComponentChildren[] = [];
  let from = 0;
  for (const [start, end] of findWords(text, wordsOf(words)).sort(([one], [other]) => one - other)) {
    if (start >= from) {
      pieces.push(text.slice(from, start), <mark key={start}>{text.slice(start, end)}</mark>);
      from = end;
    }
  }
  return (
    <>
      {pieces}
      {text.slice(from)}
    </>
  );
}
