/** The dialogs of a thread's menu: rename, change the folder, share and export. */

import { useEffect, useRef, useState } from "preact/hooks";

import { type ExportFormat, exportThread } from "../../app/export.ts";
import { exporting, moving, renaming, sharing } from "../../app/renaming.ts";
import { rename, setFolder } from "../../app/threads.ts";
import { nameOf } from "../../state/threads.ts";
import { Dialog } from "../parts/Dialog.tsx";
import type { FolderDialogProps } from "../parts/FolderDialog.tsx";
import { lazy } from "../parts/lazy.tsx";
import type { ShareDialogProps } from "../share/ShareDialog.tsx";

const FolderDialog = lazy<FolderDialogProps>(() => import("../parts/FolderDialog.tsx"));
const ShareDialog = lazy<ShareDialogProps>(() => import("../share/ShareDialog.tsx"));

const FORMATS: readonly [ExportFormat, string, string][] = [
  ["md", "Markdown", "For reading and pasting: text, tool calls, diffs, commands and approvals."],
  ["html", "HTML", "The same as one page, for printing and sending."],
  ["jsonl", "JSON", "For programs: all events, one per line."],
];

/** The dialogs of the menu. */
export default function ThreadDialogs() {
  const { value: thread } = exporting;
  const { value: shown } = sharing;
  return (
    <>
      <Renaming />
      <Moving />
      {shown && <ShareDialog key={shown.id} thread={shown} onClose={() => (sharing.value = undefined)} />}
      {thread && <Export thread={thread} onClose={() => (exporting.value = undefined)} />}
    </>
  );
}

function Export({ thread, onClose }: { thread: NonNullable<typeof exporting.value>; onClose: () => void }) {
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

/** The dialog that lets a thread work in another folder. */
function Moving() {
  const { value: thread } = moving;
  const close = () => (moving.value = undefined);
  const choose = async (cwd: string) => {
    if (await setFolder(thread!.id, cwd)) {
      close();
    }
  };
  return thread ? <FolderDialog key={thread.id} start={thread.cwd} onChoose={(cwd) => void choose(cwd)} onClose={close} /> : null;
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
