/** The list of threads with the search above it, and links to all other views. */

import { useRef } from "preact/hooks";

import { drawer, narrow, over } from "../../app/layout.ts";
import { go, pathOf, type Route, route } from "../../app/route.ts";
import { startsThreads } from "../../connection/connection.ts";
import { Icon, type IconName } from "../parts/Icon.tsx";
import { lazy, useLater } from "../parts/lazy.tsx";
import { FilterButton, Filters } from "./Filters.tsx";
import type { SelectingProps } from "./Selecting.tsx";
import { rove } from "./roving.ts";
import { query, SearchField } from "./SearchField.tsx";
import { ThreadSections } from "./ThreadSections.tsx";

import "./sidebar.css";
import "./search.css";

const Found = lazy(() => import("./SearchResults.tsx"));
const Selecting = lazy<SelectingProps>(() => import("./Selecting.tsx"));

export function Sidebar() {
  const list = useRef<HTMLElement>(null);
  const isSearching = query.value.trim() !== "";
  const later = useLater();
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
        {narrow.value && (
          <button type="button" class="button quiet icon" aria-label="Close the list" title="Close the list" onClick={() => (drawer.value = false)}>
            <Icon name="close" />
          </button>
        )}
      </div>
      <div class="side-top">
        {startsThreads.value && (
          <Way to={{ view: "home" }} icon="plus" class="side-new">
            New thread
          </Way>
        )}
        <div class="side-find">
          <SearchField />
          <FilterButton />
        </div>
        <Filters />
      </div>
      <nav ref={list} class="side-list" aria-label="Threads" onKeyDown={rove}>
        {isSearching ? <Found /> : <ThreadSections />}
      </nav>
      {later && <Selecting list={list} />}
      <nav class="side-foot" aria-label="More">
        <Way to={{ view: "agents" }} icon="agents">
          Agents
        </Way>
        <Way to={{ view: "policy" }} icon="shield">
          Policy
        </Way>
        <Way to={{ view: "usage" }} icon="bars">
          Usage
        </Way>
        <Way to={{ view: "archive" }} icon="archive">
          Archive
        </Way>
      </nav>
    </>
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
