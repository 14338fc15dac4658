/** The list of threads in sections, with only the rows near the visible ones in the page. */

import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { route } from "../../app/route.ts";
import { filter, isListComplete, listSections, loadMoreThreads } from "../../app/threads.ts";
import { online } from "../../connection/connection.ts";
import type { Section } from "../../state/threads.ts";
import { ThreadRow } from "./ThreadRow.tsx";
import { useKeptFocus } from "./keep-focus.ts";
import { useSoftMoves } from "./soft-moves.ts";
import { useCurrentInSight } from "./use-current-in-sight.ts";
import { FEW, useRowWindow } from "./use-row-window.ts";

/** The row that receives the focus by Tab; the arrow keys move from there. */
const stop = signal<string | undefined>(undefined);
const NONE: readonly Section[] = [];
/** Distance from the end at which further threads are loaded, in pixels. */
const NEAR_END = 1500;

export function ThreadSections() {
  const parts = listSections.value;
  const list = useRef<HTMLDivElement>(null);
  useSoftMoves(list, parts ?? NONE);
  useKeptFocus(list, parts ?? NONE);
  const current = route.value.view === "thread" ? route.value.threadId : undefined;
  useLayoutEffect(() => {
    // Tab reaches its row, and a long list renders that row wherever it is.
    if (current !== undefined && !list.current?.contains(document.activeElement)) {
      stop.value = current;
    }
  }, [current]);
  useCurrentInSight(list, current);
  if (parts === undefined) {
    return <p class="empty">{online.value ? "Loading…" : "Waiting for the daemon…"}</p>;
  }
  const has = (id: string | undefined) => id !== undefined && parts.some(({ threads }) => threads.some((thread) => thread.id === id));
  const tabbed = [stop.value, current].find(has) ?? parts[0]?.threads[0]?.id;
  return (
    <div
      ref={list}
      onFocusCapture={(event) => {
        stop.value = (event.target as HTMLElement).closest<HTMLElement>("[data-thread]")?.dataset.thread ?? stop.value;
      }}
    >
      {parts.map((part) => (
        <Part key={part.key} part={part} current={current} tabbed={tabbed} />
      ))}
      {parts.length === 0 && isListComplete.value && (
        <p class="empty">{Object.keys(filter.value).length > 0 ? "No threads match the filter." : "No threads yet."}</p>
      )}
      {!isListComplete.value && <End />}
    </div>
  );
}

function Part({ part, current, tabbed }: { part: Section; current: string | undefined; tabbed: string | undefined }) {
  const { title, threads } = part;
  const rows = useRef<HTMLUListElement>(null);
  const keep = threads.findIndex(({ id }) => id === tabbed);
  const { shown, height } = useRowWindow(rows, threads.length, keep, part);
  const counted = title === "Waiting for you" || title === "Running";
  let before = -1;
  const items = shown.map((index) => {
    const gap = (index - before - 1) * height;
    before = index;
    const thread = threads[index]!;
    return (
      <ThreadRow
        key={thread.id}
        thread={thread}
        current={thread.id === current}
        tabbed={thread.id === tabbed}
        index={index}
        count={threads.length}
        gap={gap}
      />
    );
  });
  return (
    <section aria-label={title}>
      <h2 class="side-title">
        <bdi class="truncate">{title}</bdi>
        {counted && <span class="side-count">{threads.length}</span>}
      </h2>
      <ul role="list" class={threads.length > FEW ? "side-rows is-long" : "side-rows"} ref={rows} style={{ paddingBottom: `${(threads.length - before - 1) * height}px` }}>
        {items}
      </ul>
    </section>
  );
}

/** The end of the loaded part: loads more when it comes near. */
function End() {
  const end = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    const element = end.current;
    if (!element || typeof IntersectionObserver === "undefined") {
      return;
    }
    let over = false;
    const look = async (entries: readonly IntersectionObserverEntry[]) => {
      if (!entries.some((entry) => entry.isIntersecting)) {
        return;
      }
      await loadMoreThreads();
      if (!over) {
        // Reports again whether the end is near.
        observer.unobserve(element);
        observer.observe(element);
      }
    };
    const observer = new IntersectionObserver((entries) => void look(entries), {
      root: element.closest(".side-list"),
      rootMargin: `${NEAR_END}px`,
    });
    observer.observe(element);
    return () => {
      over = true;
      observer.disconnect();
    };
  }, []);
  return (
    <p class="side-end" ref={end}>
      Loading older threads…
    </p>
  );
}
