/** The search over the whole history: messages, tool calls, commands, files, and names of threads. */

import type { TextFound, TextKind, ThreadSummary } from "@acpd/client";
import { effect, signal, untracked } from "@preact/signals";

import { now } from "../../app/clock.ts";
import { go, pathOf, type Route } from "../../app/route.ts";
import { client, sentence } from "../../connection/connection.ts";
import { age, nameOf } from "../../state/threads.ts";
import { Icon } from "../parts/Icon.tsx";

export const query = signal("");

interface Result {
  readonly for: string;
  readonly texts: readonly TextFound[];
  readonly threads: readonly ThreadSummary[];
  readonly error?: string;
  readonly more?: string;
}

const result = signal<Result | undefined>(undefined);

/** Delay after the last keystroke before the search, in milliseconds: the daemon limits requests. */
const PAUSE_MS = 250;
const HITS = 30;

let timer: ReturnType<typeof setTimeout> | undefined;
effect(() => {
  const words = query.value.trim();
  const connected = client.value;
  clearTimeout(timer);
  if (words === "" || !connected) {
    untracked(() => (result.value = undefined));
    return;
  }
  timer = setTimeout(() => {
    Promise.all([
      connected.call("thread/search", { query: words, limit: HITS }),
      connected.call("thread/list", { searchTerm: words, limit: 10 }),
    ]).then(
      ([{ data, nextCursor }, { data: named }]) => {
        if (query.peek().trim() === words) {
          result.value = { for: words, texts: data, threads: named, more: nextCursor ?? undefined };
        }
      },
      (error: unknown) => {
        result.value = { for: words, texts: [], threads: [], error: sentence(error) };
      },
    );
  }, PAUSE_MS);
});

async function loadMore(): Promise<void> {
  const old = result.peek();
  if (old?.more !== undefined) {
    const found = await client.peek()?.call("thread/search", { query: old.for, limit: HITS, cursor: old.more });
    if (found && result.peek() === old) {
      result.value = { ...old, texts: [...old.texts, ...found.data], more: found.nextCursor ?? undefined };
    }
  }
}

export function SearchField() {
  return (
    <div class="search" role="search">
      <Icon name="search" size={14} />
      <input
        id="search"
        class="search-field"
        type="search"
        placeholder="Search the history"
        aria-label="Search the history"
        autocomplete="off"
        spellcheck={false}
        value={query.value}
        onInput={(event) => (query.value = event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape" && query.value !== "") {
            event.stopPropagation();
            query.value = "";
          } else if (event.key === "ArrowDown") {
            event.preventDefault();
            document.querySelector<HTMLElement>(".side-list [data-rove]")?.focus();
          }
        }}
      />
      {query.value === "" ? (
        <kbd aria-hidden="true">/</kbd>
      ) : (
        <button
          type="button"
          class="button quiet icon"
          aria-label="Clear the search"
          onClick={() => {
            query.value = "";
            document.getElementById("search")?.focus();
          }}
        >
          <Icon name="close" size={12} />
        </button>
      )}
    </div>
  );
}

const KINDS: Record<TextKind, string> = {
  userMessage: "You",
  agentMessage: "Agent",
  toolCall: "Tool",
  command: "Command",
  path: "File",
};

export function Found() {
  const now = result.value;
  if (now === undefined) {
    return <p class="empty">Searching…</p>;
  }
  if (now.error !== undefined) {
    return <p class="empty error-text">{now.error}</p>;
  }
  const count = now.texts.length + now.threads.length;
  return (
    <>
      <p class="sr-only" role="status">
        {count === 0 ? "Nothing found" : `${count} found`}
      </p>
      {count === 0 && <p class="empty">Nothing found for “{now.for}”.</p>}
      {now.threads.length > 0 && (
        <section aria-label="Threads by name">
          <h2 class="side-title">Threads</h2>
          <ul role="list">
            {now.threads.map((thread) => (
              <li class="row" key={thread.id}>
                <Hit to={{ view: "thread", threadId: thread.id }} at={thread.updatedAt} name={nameOf(thread)} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {now.texts.length > 0 && (
        <section aria-label="In conversations">
          <h2 class="side-title">In conversations</h2>
          <ul role="list">
            {now.texts.map((text) => (
              <li class="row" key={`${text.threadId}-${text.seq}`}>
                <Hit
                  to={{ view: "thread", threadId: text.threadId, item: text.itemId ?? undefined }}
                  at={text.ts}
                  name={nameOf(text)}
                  text={text}
                />
              </li>
            ))}
          </ul>
          {now.more !== undefined && (
            <button type="button" class="button quiet side-more" onClick={() => void loadMore()}>
              Show more
            </button>
          )}
        </section>
      )}
    </>
  );
}

function Hit({ to, at, name, text }: { to: Route; at: number; name: string; text?: TextFound }) {
  return (
    <a
      class="row-link is-hit"
      href={pathOf(to)}
      data-rove
      onClick={(event) => {
        if (!event.metaKey && !event.ctrlKey) {
          event.preventDefault();
          go(to);
        }
      }}
    >
      <span class="row-text">
        <span class="row-head">
          <span class="row-name truncate">{name}</span>
          <time class="row-age" dateTime={new Date(at).toISOString()}>
            {age(at, now.value)}
          </time>
        </span>
        {text && (
          <span class="row-snippet">
            <span class="row-kind">{KINDS[text.kind]}</span>{" "}
            {text.snippet.map((piece, index) => (piece.hit ? <mark key={index}>{piece.text}</mark> : piece.text))}
          </span>
        )}
      </span>
    </a>
  );
}
