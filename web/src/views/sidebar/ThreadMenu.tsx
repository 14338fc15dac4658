/** The operations on a whole thread that the user's role permits. */

import type { ThreadSummary } from "@acpd/client";
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";

import { go } from "../../app/route.ts";
import { archive, fork, remove, rename, unarchive } from "../../app/threads.ts";
import { standing } from "../../connection/connection.ts";
import { nameOf } from "../../state/threads.ts";
import { Dialog } from "../parts/Dialog.tsx";
import { Icon } from "../parts/Icon.tsx";
import { Menu, type MenuItem } from "../parts/Menu.tsx";

type Subject = Pick<ThreadSummary, "id" | "name" | "archived" | "status" | "turnCount">;

/** The thread that is being renamed. It is not state of its row, since the row may move in the list meanwhile. */
export const renaming = signal<Subject | undefined>(undefined);

interface Props {
  thread: Subject;
  tabIndex?: number;
  class?: string;
}

export function ThreadMenu({ thread, tabIndex, class: extra }: Props) {
  const { value: now } = standing;
  const role = now.name === "in" ? now.session.role : "observer";
  const may = role === "operator" || role === "owner";
  // The daemon refuses these while a turn runs, so the menu disables them.
  const busy = thread.status === "running" || thread.status === "waiting";
  const items: MenuItem[] = [
    ...(may
      ? ([
          { label: "Rename…", icon: "rename", run: () => (renaming.value = thread) },
          { label: "Fork", icon: "fork", run: () => void fork(thread), disabled: thread.turnCount === 0 },
        ] satisfies MenuItem[])
      : []),
    { label: "Policy and decisions", icon: "shield", run: () => go({ view: "policy", threadId: thread.id }) },
    ...(may
      ? [
          thread.archived
            ? ({ label: "Take out of the archive", icon: "archive", run: () => void unarchive(thread.id) } as const)
            : ({ label: "Archive", icon: "archive", run: () => void archive(thread), disabled: busy } as const),
        ]
      : []),
    ...(role === "owner"
      ? [{ label: "Delete", icon: "trash", run: () => void remove(thread), danger: true, disabled: busy } as const]
      : []),
  ];
  return (
    <Menu label={`More about ${nameOf(thread)}`} items={items} tabIndex={tabIndex} class={extra}>
      <Icon name="more" />
    </Menu>
  );
}

/** The dialog that renames a thread. */
export function Renaming() {
  const { value: thread } = renaming;
  return thread ? <Rename key={thread.id} thread={thread} onClose={() => (renaming.value = undefined)} /> : null;
}

function Rename({ thread, onClose }: { thread: Subject; onClose: () => void }) {
  const [name, setName] = useState(thread.name ?? "");
  const field = useRef<HTMLInputElement>(null);
  // Typing replaces the name.
  useEffect(() => field.current?.select(), []);
  const save = async (event: Event) => {
    event.preventDefault();
    if (await rename(thread.id, name.trim() || null)) {
      onClose();
    }
  };
  return (
    <Dialog title="Rename the thread" onClose={onClose}>
      <form onSubmit={(event) => void save(event)}>
        <label class="label" for="rename">
          Name
        </label>
        <input
          ref={field}
          id="rename"
          class="field"
          value={name}
          maxLength={200}
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <p class="hint">Empty gives the name back to the agent.</p>
        <div class="dialog-foot">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button primary">
            Rename
          </button>
        </div>
      </form>
    </Dialog>
  );
}
