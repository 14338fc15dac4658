/**
 * The page's threads: the list, the open thread, and operations on whole threads. It owns the
 * subscription to the list, and the open thread.
 */

import type { Client, Thread } from "@acpd/client";
import { computed, effect, signal, untracked } from "@preact/signals";

import { client, sentence, shared } from "../connection/connection.ts";
import { KeptThreads } from "../connection/kept-threads.ts";
import { OpenThread } from "../connection/open-thread.ts";
import { type ThreadList, type Watch, watchThreads } from "../connection/thread-list.ts";
import { isOutdated } from "../state/away.ts";
import { isRecord, stored } from "../state/stored.ts";
import {
  listThreads,
  matches,
  nameOf,
  sections,
  sectionsByFolder,
  seenUntil,
  shortNames,
  type ThreadFilter,
} from "../state/threads.ts";
import { now } from "./clock.ts";
import { go, route } from "./route.ts";
import { seen, seenSince } from "./seen.ts";
import { toast } from "./toasts.ts";

const list = signal<ThreadList | undefined>(undefined);
/**
 * Threads to be deleted, with the time. If the page was closed meanwhile, the next page offers to undo the deletion
 * once more.
 */
const going = stored<Record<string, number>>("deleting", {}, isRecord);

/** Returns whether a thread is about to be deleted: the page hides it everywhere. */
export const isGoing = (threadId: string): boolean => threadId in going.value;

/** The open thread. */
export const open = signal<OpenThread | undefined>(undefined);

/** The selection that the list shows. */
export const filter = signal<ThreadFilter>({});
/** Whether the list is grouped by folder. */
export const byFolder = stored<boolean>("by-folder", false, (value) => typeof value === "boolean");

/** The known threads, latest first; `undefined` until the daemon has responded. */
export const threads = computed(() =>
  list.value === undefined
    ? undefined
    : listThreads([...list.value.known.values()], {
        seen: seen.value,
        since: seenSince.value,
        open: document.hidden ? undefined : open.value?.threadId,
        going: new Set(Object.keys(going.value)),
      }),
);
export const waiting = computed(() => (threads.value ?? []).filter(({ live }) => live === "waiting"));
/** The names of the threads' folders. */
export const folderNames = computed(() => shortNames((threads.value ?? []).map(({ cwd }) => cwd)));

/** The sections of the list, as far as it is loaded; `undefined` until the daemon has responded. */
export const listSections = computed(() => {
  const floor = list.value?.floor ?? Infinity;
  const shown = threads.value?.filter(
    (thread) =>
      (thread.updatedAt >= floor || thread.pinned === true || thread.live === "waiting" || thread.live === "running") &&
      matches(filter.value, thread),
  );
  return shown && (byFolder.value ? sectionsByFolder(shown, folderNames.value) : sections(shown, now.value));
});
/** Whether all threads of the selection are loaded. */
export const isListComplete = computed(() => list.value?.floor === -Infinity);

/** Loads the next page of the list, if there is one. */
export async function loadMoreThreads(): Promise<void> {
  await watch?.more();
}

let watch: Watch | undefined;

effect(() => {
  const now = client.value;
  watch?.stop();
  watch = undefined;
  if (now) {
    watch = watchThreads(now, (loaded) => {
      list.value = loaded;
    });
    if (shared.peek() === undefined) {
      resumeDeletions();
    }
  } else {
    list.value = undefined;
  }
});

effect(() => {
  const selected = filter.value;
  if (client.value) {
    watch?.select(selected);
  }
});

/** The threads that the user has left last, of the client of the open one. */
const kept = new KeptThreads();
let keptOf: Client | undefined;

/** The address determines the open thread. */
effect(() => {
  const now = client.value;
  const to = route.value;
  const threadId = to.view === "thread" ? to.threadId : undefined;
  untracked(() => {
    if (keptOf !== now) {
      // Without its client, as after signing out, nothing of a thread stays in the page.
      kept.clear();
      keptOf = now;
    }
    const old = open.peek();
    if (old && (old.threadId !== threadId || ownerOf.get(old) !== now)) {
      open.value = undefined;
      if (now && ownerOf.get(old) === now) {
        kept.keep(old);
      } else {
        old.close();
      }
    }
    if (threadId && now && open.peek()?.threadId !== threadId) {
      const made = resume(threadId) ?? new OpenThread(now, threadId);
      made.onForked = (fork) => go({ view: "thread", threadId: fork });
      ownerOf.set(made, now);
      open.value = made;
    }
  });
});
const ownerOf = new WeakMap<OpenThread, Client>();

/** Returns a thread as the user has left it. */
function resume(threadId: string): OpenThread | undefined {
  const listed = list.peek()?.known.get(threadId);
  return kept.take(threadId, (leftAt, head) => isOutdated(leftAt, Date.now(), head, listed));
}

/** Returns the time until which the user has seen the changes of a thread, on any device; `undefined` if unknown. */
export function seenUntilOf(threadId: string): number | undefined {
  const thread = list.peek()?.known.get(threadId);
  return thread && seenUntil(thread, { seen: seen.peek(), since: seenSince.peek() });
}

/** Runs an operation; shows a failure to the user and returns `false`. */
export async function attempt(what: string, run: (client: Client) => Promise<unknown>): Promise<boolean> {
  const now = client.peek();
  try {
    if (!now) {
      throw new Error("there is no connection");
    }
    await run(now);
    return true;
  } catch (error) {
    toast(`${what}: ${sentence(error)}`, { kind: "error" });
    return false;
  }
}

export const rename = (threadId: string, name: string | null): Promise<boolean> =>
  attempt("Couldn’t rename", (now) => now.call("thread/name/set", { threadId, name }));

export const setFolder = (threadId: string, cwd: string): Promise<boolean> =>
  attempt("Couldn’t change the folder", (now) => now.call("thread/directories/set", { threadId, cwd }));

/** Pins a thread for all devices, or removes its pin. */
export async function pin({ id: threadId, name }: Pick<Thread, "id" | "name">, pinned: boolean): Promise<void> {
  if (await attempt(pinned ? "Couldn’t pin" : "Couldn’t unpin", (now) => now.call("thread/pin/set", { threadId, pinned }))) {
    toast(`${pinned ? "Pinned" : "Unpinned"} “${nameOf({ name })}”`);
  }
}

export async function archive(thread: Pick<Thread, "id" | "name">): Promise<void> {
  const threadId = thread.id;
  if (await attempt("Couldn’t archive", (now) => now.call("thread/archive", { threadId }))) {
    closeGone(threadId);
    toast(`Archived “${nameOf(thread)}”`, { action: { label: "Undo", run: () => void unarchive(threadId) } });
  }
}

export const unarchive = (threadId: string): Promise<boolean> =>
  attempt("Couldn’t unarchive", (now) => now.call("thread/unarchive", { threadId }));

export async function fork({ id: threadId, name }: Pick<Thread, "id" | "name">): Promise<void> {
  await attempt("Couldn’t fork", async (now) => {
    // The copy does not include a name that was given after the last turn.
    const { thread } = await now.call("thread/fork", { threadId, name });
    go({ view: "thread", threadId: thread.id });
  });
}

/** Time in which a deletion can be undone, in milliseconds. */
const UNDO_MS = 8_000;

/**
 * Deletes a thread, with time to undo it. It is archived immediately: no turn runs in it, and nothing is lost if the
 * page is closed. It is deleted when the time is over.
 */
export async function remove(thread: Pick<Thread, "id" | "name"> & { archived?: boolean }): Promise<void> {
  const { id, name, archived = false } = thread;
  if (!(await attempt("Couldn’t delete", (now) => now.call("thread/archive", { threadId: id })))) {
    return;
  }
  going.value = { ...going.peek(), [id]: Date.now() + UNDO_MS };
  closeGone(id);
  countDown(id, nameOf({ name }), archived);
}

function countDown(id: string, name: string, archived: boolean): void {
  const timer = setTimeout(() => {
    kept.drop(id);
    void attempt("Couldn’t delete", (now) => now.call("thread/delete", { threadId: id })).then(() => forget(id));
  }, UNDO_MS);
  toast(`Deleted “${name}”`, {
    ms: UNDO_MS,
    action: {
      label: "Undo",
      run: () => {
        clearTimeout(timer);
        forget(id);
        if (!archived) {
          void unarchive(id);
        }
      },
    },
  });
}

function forget(id: string): void {
  const { [id]: _, ...rest } = going.peek();
  going.value = rest;
}

/** Restarts the undo time for deletions of a page that was closed early, and shows them. */
function resumeDeletions(): void {
  for (const [id, at] of Object.entries(going.peek())) {
    // A deletion that is not due yet may belong to another tab.
    if (at < Date.now()) {
      going.value = { ...going.peek(), [id]: Date.now() + UNDO_MS };
      countDown(id, "a thread from before", false);
    }
  }
}

/** Closes the view of a thread that is gone. */
export function closeGone(threadId: string): void {
  const now = route.peek();
  if ((now.view === "thread" || now.view === "policy") && now.threadId === threadId) {
    go({ view: "home" }, { replace: true });
  }
}

/** Closes the view of a thread that was deleted, and keeps nothing of it. */
export function closeDeleted(threadId: string): void {
  closeGone(threadId);
  kept.drop(threadId);
}
