/** The page of a signed-in user: the list next to the view, or over it in a narrow window. */

import { useEffect, useRef } from "preact/hooks";

import { drawer, narrow, over } from "../../app/layout.ts";
import { exporting, moving, renaming, sharing } from "../../app/renaming.ts";
import { route } from "../../app/route.ts";
import { Opening, type ThreadPaneProps } from "../pane/Opening.tsx";
import { Banner } from "../parts/Banner.tsx";
import { useBack } from "../parts/use-back.ts";
import { Sidebar } from "../sidebar/Sidebar.tsx";
import { lazy, usePreload } from "../parts/lazy.tsx";
import { SidebarEdge } from "./SidebarEdge.tsx";

import "./shell.css";

const Agents = lazy(() => import("../agents/Agents.tsx"));
const Usage = lazy(() => import("../usage/Usage.tsx"));
const Archive = lazy(() => import("../archive/Archive.tsx"));
const NewThread = lazy<{ agent?: string }>(() => import("../home/NewThread.tsx"));
const Palette = lazy(() => import("../palette/Palette.tsx"));
const Policy = lazy<{ threadId?: string }>(() => import("../policy/Policy.tsx"));
const Settings = lazy(() => import("../settings/Settings.tsx"));
const ThreadPane = lazy<ThreadPaneProps>(() => import("../pane/ThreadPane.tsx"), Opening);
const ThreadDialogs = lazy(() => import("../sidebar/ThreadDialogs.tsx"));
const Shortcuts = lazy(() => import("../settings/Shortcuts.tsx"));

// While the page signs in. The other one is not part of the first load.
const { view: first } = route.peek();
if (first === "home") {
  NewThread.preload();
} else if (first === "thread") {
  ThreadPane.preload();
}

export function Shell() {
  const side = useRef<HTMLElement>(null);
  const closed = narrow.value && !drawer.value;
  const covered = narrow.value && drawer.value;
  useBack(covered, () => (drawer.value = false));
  const opened = useRef(false);
  /** Whether it closed because of a navigation. */
  const went = useRef(false);
  useEffect(() => {
    if (covered) {
      opened.current = true;
      // The key of the search opens it with the focus in the field.
      if (!side.current?.contains(document.activeElement)) {
        side.current?.querySelector<HTMLElement>("a, button, input")?.focus();
      }
    } else if (opened.current) {
      opened.current = false;
      // After a navigation, focus the view itself: its parts may be rendered again meanwhile, and would lose the focus. A
      // conversation that is there already could not take it while it was covered.
      const view = document.querySelector<HTMLElement>(".pane [role=feed]") ?? document.getElementById("main");
      (went.current ? view : document.querySelector<HTMLElement>(".view-head .drawer-button"))?.focus();
      went.current = false;
    }
  }, [covered]);
  usePreload(ThreadPane, NewThread, Palette);
  // A navigation closes the drawer.
  useEffect(() => {
    went.current = drawer.peek();
    drawer.value = false;
  }, [route.value]);
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        Skip to the content
      </a>
      <div class="shell">
        <aside
          id="sidebar"
          ref={side}
          class={drawer.value ? "shell-side is-open" : "shell-side"}
          aria-label="Threads"
          inert={closed}
        >
          <Sidebar />
          {!narrow.value && <SidebarEdge />}
        </aside>
        {covered && <div class="scrim" onClick={() => (drawer.value = false)} />}
        <main id="main" class="shell-main" tabIndex={-1} inert={covered}>
          <Banner />
          <View />
        </main>
      </div>
      {(renaming.value ?? moving.value ?? exporting.value ?? sharing.value) && <ThreadDialogs />}
      {over.value === "shortcuts" && <Shortcuts />}
      {over.value === "settings" && <Settings />}
      {over.value === "palette" && <Palette />}
    </>
  );
}

function View() {
  const to = route.value;
  switch (to.view) {
    case "thread":
      return <ThreadPane key={to.threadId} threadId={to.threadId} target={to.item} find={to.find} />;
    case "agents":
      return <Agents />;
    case "policy":
      return <Policy key={to.threadId} threadId={to.threadId} />;
    case "usage":
      return <Usage />;
    case "archive":
      return <Archive />;
    default:
      return <NewThread key={to.agent} agent={to.agent} />;
  }
}
