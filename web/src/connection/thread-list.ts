/**
 * Keeps the list of threads current, including threads without a subscription. Loads all active and pinned threads and the
 * latest other ones, further pages on request, and then applies the daemon's changes. A background page applies them
 * immediately.
 */

import type { Client, ListChanged, ListThreads, ThreadSummary } from "@acpd/client";

import { applyChanges, type ThreadFilter } from "../state/threads.ts";

/** Number of threads in a page: the daemon's maximum. */
const PAGE = 100;
/** Maximum number of pages that a new connection loads at once: the daemon limits requests. */
const PAGES = 20;
/** Minimum time between two updates of a visible list, in milliseconds. Browsers suspend the timers of hidden pages. */
const FRAME_MS = 50;
/** Delay after a failed request, in milliseconds: too many requests, or the daemon is stopping. */
const AGAIN_MS = 2_000;

export interface ThreadList {
  /** The known threads, in no order. All active and all pinned threads are known. */
  readonly known: ReadonlyMap<string, ThreadSummary>;
  /** Of the selection, all threads are known that changed at this time or later; `-Infinity` if all are. */
  readonly floor: number;
}

export interface Watch {
  /** Changes the selection of which `more` loads pages, and loads its first page. */
  select(filter: ThreadFilter): void;
  /** Loads the next page of the selection, if there is one. */
  more(): Promise<void>;
  stop(): void;
}

/** How much of a selection is loaded. */
interface Frontier {
  readonly floor: number;
  readonly pages: number;
  /** The cursor of the next page; absent after the last one. */
  readonly cursor?: string;
}

const NOTHING: Frontier = { floor: Infinity, pages: 0 };

/** Calls `onList` with the unarchived threads, now and after every change. */
export function watchThreads(client: Client, onList: (list: ThreadList) => void): Watch {
  let known: ReadonlyMap<string, ThreadSummary> = new Map();
  /** Whether the first page has been loaded, since the page opened. */
  let begun = false;
  /** For each load, the changes since it began, which may be newer than its responses. */
  const early = new Set<ListChanged[]>();
  /** Changes since the last call of `onList`. */
  let late: ListChanged[] = [];
  let filter: ThreadFilter = {};
  let frontiers = new Map<string, Frontier>();
  /** Number of the current load: responses to earlier ones are ignored. */
  let round = 0;
  let loading: Promise<void> | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let handedAt = -Infinity;

  const frontier = () => frontiers.get(JSON.stringify(filter)) ?? NOTHING;
  const hand = () => {
    clearTimeout(timer);
    timer = undefined;
    handedAt = performance.now();
    known = applyChanges(known, late);
    late = [];
    onList({ known, floor: frontier().floor });
  };
  /** Loads pages after a frontier; returns their threads, and the new frontier. */
  const load = async (wanted: ListThreads, from: Frontier, pages: number): Promise<[ThreadSummary[], Frontier]> => {
    const threads: ThreadSummary[] = [];
    let at = from;
    do {
      const { data, nextCursor } = await client.call("thread/list", { ...wanted, limit: PAGE, cursor: at.cursor });
      threads.push(...data);
      const floor = nextCursor == null ? -Infinity : data.at(-1)!.updatedAt;
      at = { floor, pages: at.pages + 1, ...(nextCursor != null && { cursor: nextCursor }) };
    } while (at.cursor !== undefined && at.pages < from.pages + pages);
    return [threads, at];
  };
  /** Adds loaded threads. Changes that arrived meanwhile take precedence. */
  const add = (threads: readonly ThreadSummary[], to: ReadonlyMap<string, ThreadSummary>, changes: readonly ListChanged[]) => {
    known = applyChanges(new Map([...to, ...threads.map((thread) => [thread.id, thread] as const)]), changes);
    late = [];
    hand();
  };

  const ask = async (): Promise<void> => {
    clearTimeout(retry);
    const mine = ++round;
    const [key, before] = [JSON.stringify(filter), frontier()];
    const changes: ListChanged[] = [];
    early.add(changes);
    try {
      await client.call("thread/list/watch");
      const [[active], [pinned]] = await Promise.all([load({ status: "active" }, NOTHING, PAGES), load({ pinned: true }, NOTHING, PAGES)]);
      const [latest, now] = await load(filter, NOTHING, Math.min(PAGES, Math.max(1, before.pages)));
      if (mine === round) {
        begun = true;
        frontiers = new Map([[key, now]]);
        add([...latest, ...pinned, ...active], new Map(), changes);
        if (key !== JSON.stringify(filter)) {
          void more();
        }
      }
    } catch {
      // Without a connection, the next connection sends the request.
      if (mine === round && client.state.name === "open") {
        retry = setTimeout(() => void ask(), AGAIN_MS);
      }
    } finally {
      early.delete(changes);
    }
  };
  const more = (): Promise<void> => {
    const from = frontier();
    if (!begun || (from.pages > 0 && from.cursor === undefined)) {
      return Promise.resolve();
    }
    loading ??= loadMore(from).finally(() => {
      loading = undefined;
    });
    return loading;
  };
  const loadMore = async (from: Frontier): Promise<void> => {
    const [mine, key] = [round, JSON.stringify(filter)];
    const changes: ListChanged[] = [];
    early.add(changes);
    try {
      const [threads, now] = await load(filter, from, 1);
      if (mine === round) {
        frontiers.set(key, now);
        add(threads, known, changes);
      }
    } catch {
      // The user's next scrolling requests it again.
      await new Promise((next) => setTimeout(next, AGAIN_MS));
    } finally {
      early.delete(changes);
    }
  };

  const offs = [
    client.on("thread/list/changed", (change) => {
      early.forEach((changes) => changes.push(change));
      if (!begun) {
        return;
      }
      late.push(change);
      const wait = FRAME_MS - (performance.now() - handedAt);
      if (document.hidden || wait <= 0) {
        hand();
      } else {
        timer ??= setTimeout(hand, wait);
      }
    }),
    client.on("thread/list/reset", () => void ask()),
    client.onState(({ name }) => {
      if (name === "open") {
        void ask();
      }
    }),
  ];
  if (client.state.name === "open") {
    void ask();
  }
  return {
    select: (next) => {
      filter = next;
      if (begun) {
        hand();
        if (frontier() === NOTHING) {
          void (loading ?? Promise.resolve()).then(() => more());
        }
      }
    },
    more,
    stop: () => {
      round++;
      clearTimeout(timer);
      clearTimeout(retry);
      for (const off of offs) {
        off();
      }
    },
  };
}
