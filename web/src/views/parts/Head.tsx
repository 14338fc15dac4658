/** The header of a view: the button of the drawer if there is one, the title, and the view's actions. */

import type { ComponentChildren } from "preact";

import { drawer, narrow } from "../../app/layout.ts";
import { waiting } from "../../app/threads.ts";
import { shared } from "../../connection/connection.ts";
import { Icon } from "./Icon.tsx";

interface Props {
  title: ComponentChildren;
  sub?: ComponentChildren;
  children?: ComponentChildren;
}

export function Head({ title, sub, children }: Props) {
  const count = waiting.value.length;
  return (
    <header class="view-head">
      {narrow.value && shared.value === undefined && (
        <button
          type="button"
          class="button quiet icon drawer-button"
          aria-label={count > 0 ? `Threads: ${count} waiting for you` : "Threads"}
          aria-expanded={drawer.value}
          aria-controls="sidebar"
          onClick={() => (drawer.value = true)}
        >
          <Icon name="menu" />
          {count > 0 && <span class="dot" aria-hidden="true" />}
        </button>
      )}
      <div class="view-title">
        <h1 class="truncate" dir="auto">
          {title}
        </h1>
        {sub && <div class="view-sub">{sub}</div>}
      </div>
      <div class="view-actions">{children}</div>
    </header>
  );
}
