/** The search over all conversations and names of threads: the query, and its results by thread. */

import type { TextFound, ThreadSummary } from "@acpd/client";
import { computed, effect, signal, untracked } from "@preact/signals";

import { client, online, sentence } from "../connection/connection.ts";
import { groupHits, matches } from "../state/threads.ts";
import { filter, threads } from "./threads.ts";

export const query = signal("");
/** Whether a request is in flight. */
export const searching = signal(false);

interface Result {
  readonly for: string;
  readonly texts: readonly TextFound[];
  readonly named: readonly ThreadSummary[];
  readonly error?: string;
  readonly more?: string;
}

const result = signal<Result | undefined>(undefined);

/** Delay after the last keystroke before the search, in milliseconds: the daemon limits requests. */
const PAUSE_MS = 250;
const HITS = 50;
/** With a filter: the number of groups up to which further pages are loaded automatically, and of those pages. */
const [ENOUGH, PAGES] = [10, 8];

/** Entries of found threads that are not in the list. */
const others = signal<ReadonlyMap<string, ThreadSummary>>(new Map());
const summaryOf = (id: string) => threads.value?.find((thread) => thread.id === id) ?? others.value.get(id);

/** The results of the query, by thread; `undefined` before the first response. */
export const found = computed(() => {
  const now = result.value;
  if (now === undefined) {
    return undefined;
  }
  const groups = groupHits(now.texts, now.named, summaryOf);
  const active = Object.keys(filter.value).length > 0;
  return {
    for: now.for,
    error: now.error,
    more: now.more !== undefined,
    groups: active ? groups.filter(({ thread }) => thread !== undefined && matches(filter.value, thread)) : groups,
  };
});

let timer: ReturnType<typeof setTimeout> | undefined;
let pages = 0;
effect(() => {
  const words = query.value.trim();
  const connected = client.value;
  const isOnline = online.value;
  clearTimeout(timer);
  if (words === "" || !connected) {
    untracked(() => {
      result.value = undefined;
      searching.value = false;
    });
    return;
  }
  // Requests fail without a connection: the words are searched once there is one.
  const now = result.peek();
  if (!isOnline || (now?.for === words && now.error === undefined)) {
    searching.value = false;
    return;
  }
  searching.value = true;
  timer = setTimeout(() => {
    pages = 1;
    Promise.all([
      connected.call("thread/search", { query: words, limit: HITS }),
      connected.call("thread/list", { searchTerm: words, limit: HITS }),
    ])
      .then(
        ([{ data, nextCursor }, { data: named }]): Result => ({ for: words, texts: data, named, more: nextCursor ?? undefined }),
        (error: unknown): Result => ({ for: words, texts: [], named: [], error: sentence(error) }),
      )
      .then((next) => {
        if (query.peek().trim() === words) {
          result.value = next;
          searching.value = false;
        }
      });
  }, PAUSE_MS);
});

/** Loads the next page of hits. */
export async function loadMoreHits(): Promise<void> {
  const old = result.peek();
  const now = client.peek();
  if (old?.more === undefined || !now || searching.peek()) {
    return;
  }
  pages++;
  searching.value = true;
  try {
    const next = await now.call("thread/search", { query: old.for, limit: HITS, cursor: old.more });
    if (result.peek() === old) {
      result.value = { ...old, texts: [...old.texts, ...next.data], more: next.nextCursor ?? undefined };
    }
  } catch (error) {
    if (result.peek() === old) {
      result.value = { ...old, error: sentence(error) };
    }
  } finally {
    searching.value = false;
  }
}

// Hits contain no folder and no agent, so threads outside of the list are read.
effect(() => {
  const now = online.value && client.value;
  const missing = new Set((result.value?.texts ?? []).map(({ threadId }) => threadId).filter((id) => summaryOf(id) === undefined));
  if (!now || missing.size === 0) {
    return;
  }
  untracked(() => void readAll([...missing]));
});

const reading = new Set<string>();

async function readAll(ids: readonly string[]): Promise<void> {
  for (const threadId of ids.filter((id) => !reading.has(id))) {
    reading.add(threadId);
    const read = await client.peek()?.call("thread/read", { threadId }).catch(() => undefined);
    if (read) {
      others.value = new Map([...others.peek(), [threadId, read.thread]]);
    }
    reading.delete(threadId);
  }
}

// With a filter, the first page may contain few or no fitting hits.
effect(() => {
  const now = found.value;
  if (now?.more && !searching.value && pages < PAGES && now.groups.length < ENOUGH && Object.keys(filter.value).length > 0) {
    untracked(() => void loadMoreHits());
  }
});
