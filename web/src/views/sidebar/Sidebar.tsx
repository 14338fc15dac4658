/** The list of threads with the search above it, and links to all other views. */

import { signal } from "@preact/signals";

import { now } from "../../app/clock.ts";
import { over } from "../../app/layout.ts";
import { go, pathOf, type Route, route } from "../../app/route.ts";
import { threads } from "../../app/threads.ts";
import { online, standing } from "../../connection/connection.ts";
import { sections } from "../../state/threads.ts";
import { Icon, type IconName } from "../parts/Icon.tsx";
import { Found, SearchField, query } from "./Search.tsx";
import { rove } from "./roving.ts";
import { ThreadRow } from "./ThreadRow.tsx";

import "./sidebar.css";

/** The row that receives the focus by Tab; the arrow keys move from there. */
const stop = signal<string | undefined>(undefined);

export function Sidebar() {
  const { value: standingNow } = standing;
  const role = standingNow.name === "in" ? standingNow.session.role : undefined;
  return (
    <>
      <div class="side-head">
        <span class="side-brand">acpd</span>
        <button type="button" class="button quiet icon" aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)" onClick={() => (over.value = "shortcuts")}>
          <Icon name="help" />
        </button>
        <button type="button" class="button quiet icon" aria-label="Settings" title="Settings" onClick={() => (over.value = "settings")}>
          <Icon name="settings" />
        </button>
      </div>
      <div class="side-top">
        {role !== "observer" && role !== "approver" && (
          <Way to={{ view: "home" }} icon="plus" class="side-new">
            New thread
          </Way>
        )}
        <SearchField />
      </div>
      <nav class="side-list" aria-label="Threads" onKeyDown={rove}>
        {query.value.trim() === "" ? <List /> : <Found />}
      </nav>
      <nav class="side-foot" aria-label="More">
        <Way to={{ view: "agents" }} icon="agents">
          Agents
        </Way>
        <Way to={{ view: "policy" }} icon="shield">
          Policy
        </Way>
        <Way to={{ view: "archive" }} icon="archive">
          Archive
        </Way>
      </nav>
    </>
  );
}

function List() {
  const list = threads.value;
  const current = route.value.view === "thread" ? route.value.threadId : undefined;
  if (list === undefined) {
    return <p class="empty">{online.value ? "Loading…" : "Waiting for the daemon…"}</p>;
  }
  if (list.length === 0) {
    return <p class="empty">No threads yet.</p>;
  }
  const parts = sections(list, now.value);
  const ids = parts.flatMap((part) => part.threads.map(({ id }) => id));
  const tabbed = [stop.value, current].find((id) => id !== undefined && ids.includes(id)) ?? ids[0];
  return (
    <div onFocusCapture={(event) => (stop.value = (event.target as HTMLElement).closest<HTMLElement>("[data-thread]")?.dataset.thread ?? stop.value)}>
      {parts.map(({ title, threads: rows }) => (
        <section key={title} aria-label={title}>
          <h2 class="side-title">
            {title}
            {(title === "Waiting for you" || title === "Running") && <span class="side-count">{rows.length}</span>}
          </h2>
          <ul role="list">
            {rows.map((thread) => (
              <ThreadRow key={thread.id} thread={thread} current={thread.id === current} tabbed={thread.id === tabbed} />
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

function Way({ to, icon, class: extra = "", children }: { to: Route; icon: IconName; class?: string; children: string }) {
  return (
    <a
      class={`side-way ${extra}`}
      href={pathOf(to)}
      aria-current={route.value.view === to.view ? "page" : undefined}
      onClick={(event) => {
        if (!event.metaKey && !event.ctrlKey && !event.shiftKey) {
          event.preventDefault();
          go(to);
        }
      }}
    >
      <Icon name={icon} />
      {children}
    </a>
  );
}
