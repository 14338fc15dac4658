/** The operations on a whole thread that the user's role permits. */

import type { ThreadSummary } from "@acpd/client";
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";

import { copyConversation, copyLink, type ExportFormat, exportThread } from "../../app/export.ts";
import { printThread } from "../../app/print.ts";
import { renaming } from "../../app/renaming.ts";
import { go } from "../../app/route.ts";
import { archive, fork, remove, rename, unarchive } from "../../app/threads.ts";
import { standing } from "../../connection/connection.ts";
import { nameOf } from "../../state/threads.ts";
import { Dialog } from "../parts/Dialog.tsx";
import { Icon } from "../parts/Icon.tsx";
import { Menu, type MenuItem } from "../parts/Menu.tsx";

type Subject = Pick<ThreadSummary, "id" | "name" | "archived" | "status" | "turnCount">;

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
    { label: "Copy link", icon: "link", run: () => void copyLink(thread.id) },
    { label: "Copy as Markdown", icon: "copy", run: () => void copyConversation(thread.id), disabled: thread.turnCount === 0 },
    { label: "Export…", icon: "download", run: () => (exporting.value = thread) },
    { label: "Print…", icon: "print", run: () => void printThread(thread.id), disabled: thread.turnCount === 0 },
    { label: "Policy and decisions", icon: "shield", run: () => go({ view: "policy", threadId: thread.id }) },
    ...(may
      ? [
          thread.archived
            ? ({ label: "Unarchive", icon: "archive", run: () => void unarchive(thread.id) } as const)
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

/** The thread that is being exported. */
const exporting = signal<Subject | undefined>(undefined);

const FORMATS: readonly [ExportFormat, string, string][] = [
  ["md", "Markdown", "For reading and pasting: text, tool calls, diffs, commands and approvals."],
  ["html", "HTML", "The same as one page, for printing and sending."],
  ["jsonl", "JSON", "For programs: all events, one per line."],
];

/** The dialogs of the menu. */
export function ThreadDialogs() {
  const { value: thread } = exporting;
  return (
    <>
      <Renaming />
      {thread && <Export thread={thread} onClose={() => (exporting.value = undefined)} />}
    </>
  );
}

function Export({ thread, onClose }: { thread: Subject; onClose: () => void }) {
  return (
    <Dialog title="Export thread" onClose={onClose}>
      <ul role="list" class="formats">
        {FORMATS.map(([format, name, about]) => (
          <li key={format}>
            <button
              type="button"
              class="format"
              onClick={() => {
                onClose();
                void exportThread(thread.id, nameOf(thread), format);
              }}
            >
              <strong>{name}</strong>
              <span class="hint">{about}</span>
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

/** The dialog that renames a thread. */
function Renaming() {
  const { value: thread } = renaming;
  return thread ? <Rename key={thread.id} thread={thread} onClose={() => (renaming.value = undefined)} /> : null;
}

function Rename({ thread, onClose }: { thread: NonNullable<typeof renaming.value>; onClose: () => void }) {
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
    <Dialog title="Rename thread" onClose={onClose}>
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
        <p class="hint">Leave this empty to let the agent name the thread.</p>
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
