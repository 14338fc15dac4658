/** The operations on a whole thread that the user's role permits. */

import type { ThreadSummary } from "@acpd/client";

import { copyConversation, copyLink } from "../../app/export.ts";
import { printThread } from "../../app/print.ts";
import { exporting, moving, renaming, sharing } from "../../app/renaming.ts";
import { go } from "../../app/route.ts";
import { archive, fork, pin, remove, unarchive } from "../../app/threads.ts";
import { toast } from "../../app/toasts.ts";
import { shared, standing } from "../../connection/connection.ts";
import { nameOf } from "../../state/threads.ts";
import { Icon } from "../parts/Icon.tsx";
import { Menu, type MenuItem } from "../parts/Menu.tsx";

type Subject = Pick<ThreadSummary, "id" | "name" | "cwd" | "archived" | "pinned" | "status" | "turnCount">;

/** Moves a pinned thread. */
const stepPin = (id: string, by: 1 | -1) => void import("../../app/pin-order.ts").then((loaded) => loaded.stepPin(id, by), () => toast("Couldn’t load this. Reload the page.", { kind: "error" }));

interface Props {
  thread: Subject;
  tabIndex?: number;
  class?: string;
  /** A selector of the element around the menu that opens it by a right click. */
  within?: string;
}

export function ThreadMenu({ thread, tabIndex, class: extra, within }: Props) {
  const { value: now } = standing;
  const role = now.name === "in" ? now.session.role : "observer";
  const may = role === "operator" || role === "owner";
  // The daemon refuses these while a turn runs, so the menu disables them.
  const busy = thread.status === "running" || thread.status === "waiting";
  const exports: MenuItem[] = [
    { label: "Copy as Markdown", icon: "copy", run: () => void copyConversation(thread.id), disabled: thread.turnCount === 0 },
    { label: "Export…", icon: "download", run: () => (exporting.value = thread) },
    { label: "Print…", icon: "print", run: () => void printThread(thread.id), disabled: thread.turnCount === 0 },
  ];
  const items: MenuItem[] = [
    ...(may
      ? ([
          thread.pinned === true
            ? { label: "Unpin", icon: "unpin", run: () => void pin(thread, false) }
            : { label: "Pin", icon: "pin", run: () => void pin(thread, true) },
          ...(thread.pinned === true
            ? [
                { label: "Move up", icon: "move", run: () => stepPin(thread.id, -1) } as const,
                { label: "Move down", icon: "move", run: () => stepPin(thread.id, 1) } as const,
              ]
            : []),
          { label: "Rename…", icon: "rename", run: () => (renaming.value = thread) },
          { label: "Change folder…", icon: "folder", run: () => (moving.value = thread), disabled: busy },
          { label: "Fork", icon: "fork", run: () => void fork(thread), disabled: thread.turnCount === 0 },
        ] satisfies MenuItem[])
      : []),
    { label: "Copy link", icon: "link", run: () => void copyLink(thread.id) },
    ...(may ? [{ label: "Share…", icon: "share", run: () => (sharing.value = thread) } as const] : []),
    ...exports,
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
    <Menu label={`More about ${nameOf(thread)}`} items={shared.value ? exports : items} tabIndex={tabIndex} class={extra} within={within}>
      <Icon name="more" />
    </Menu>
  );
}
