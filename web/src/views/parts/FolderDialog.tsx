/** A dialog that leads through the folders of the daemon's host. */

import type { FoldersListed } from "@acpd/client";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { createFolder, join, listFolders } from "../../app/folders.ts";
import { announce } from "../../app/live-region.ts";
import { sentence } from "../../connection/connection.ts";
import { visible, visibleLine } from "../../text/bidi-guard.ts";
import { Dialog } from "./Dialog.tsx";
import { Icon } from "./Icon.tsx";

import "./folder-dialog.css";

export interface FolderDialogProps {
  /** Where it starts, if that exists. */
  start: string;
  onChoose: (path: string) => void;
  onClose: () => void;
}

export default function FolderDialog({ start, onChoose, onClose }: FolderDialogProps) {
  const [listing, setListing] = useState<FoldersListed>();
  const [error, setError] = useState<string>();
  const [hidden, setHidden] = useState(false);
  const [name, setName] = useState<string>();
  const list = useRef<HTMLUListElement>(null);

  const show = async (path: string) => {
    setError(undefined);
    try {
      const next = await listFolders(path);
      setListing(next);
      announce(`${next.path}: ${next.folders.length} folders`);
      // The pressed entry is gone: the next one is at the beginning of the list.
      requestAnimationFrame(() => list.current?.querySelector("button")?.focus());
    } catch (why) {
      setError(sentence(why));
    }
  };
  useEffect(() => {
    listFolders(start || "~").then(setListing, () => void show("~"));
  }, []);
  const field = useRef<HTMLInputElement>(null);
  const naming = name !== undefined;
  useLayoutEffect(() => field.current?.focus(), [naming]);
  const create = async () => {
    if (!listing || !name?.trim()) {
      return;
    }
    try {
      const made = await createFolder(join(listing.path, name.trim()));
      setName(undefined);
      await show(made);
    } catch (why) {
      setError(sentence(why));
    }
  };
  const folders = (listing?.folders ?? []).filter((folder) => hidden || !folder.name.startsWith("."));
  return (
    <Dialog title={listing ? `Choose a folder on ${visibleLine(listing.host)}` : "Choose a folder"} class="folders" onClose={onClose}>
      {listing && (
        <p class="mono folders-path">
          <bdi dir="ltr">{visibleLine(listing.path)}</bdi>
        </p>
      )}
      {error !== undefined && (
        <p class="error-text" role="alert">
          {visible(error)}
        </p>
      )}
      <ul ref={list} role="list" class="folders-list" aria-label="Folders">
        {listing?.parent != null && (
          <li>
            <Entry name=".." label="Parent folder" onOpen={() => void show(listing.parent!)} />
          </li>
        )}
        {folders.map(({ name: folder, repository }) => (
          <li key={folder}>
            <Entry name={folder} repository={repository} onOpen={() => void show(join(listing!.path, folder))} />
          </li>
        ))}
      </ul>
      {listing && folders.length === 0 && <p class="hint">No folders in it.</p>}
      {listing?.truncated && <p class="hint">There are more. Type the beginning of the name in the field instead.</p>}
      <div class="folders-new">
        {!naming ? (
          <>
            <button type="button" class="button quiet" disabled={!listing} onClick={() => setName("")}>
              <Icon name="plus" size={14} /> New folder
            </button>
            <label class="check">
              <input type="checkbox" checked={hidden} onChange={(event) => setHidden(event.currentTarget.checked)} />
              Hidden folders
            </label>
          </>
        ) : (
          <>
            <input
              class="field"
              aria-label="Name of the new folder"
              autocomplete="off"
              spellcheck={false}
              value={name}
              ref={field}
              onInput={(event) => setName(event.currentTarget.value)}
              onKeyDown={(event) => {
                if (event.key === "Enter" && !event.isComposing) {
                  event.preventDefault();
                  // It is inside of another form.
                  event.stopPropagation();
                  void create();
                }
              }}
            />
            <button type="button" class="button" disabled={!name.trim()} onClick={() => void create()}>
              Create
            </button>
          </>
        )}
      </div>
      <div class="dialog-foot">
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="button primary" disabled={!listing} onClick={() => listing && onChoose(listing.path)}>
          Use this folder
        </button>
      </div>
    </Dialog>
  );
}

function Entry({ name, label, repository = false, onOpen }: { name: string; label?: string; repository?: boolean; onOpen: () => void }) {
  return (
    <button type="button" class="folders-entry" aria-label={label} onClick={onOpen}>
      <Icon name="folder" size={14} />
      <bdi class="truncate" dir="auto">
        {visibleLine(name)}
      </bdi>
      {repository && <span class="hint">Git</span>}
    </button>
  );
}
