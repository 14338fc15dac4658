/**
 * The folder of a new thread: a chip in the bar of the message box, which is a field over the bar while it has the focus. The field
 * suggests recent folders, and completes paths of the daemon's host. Recent folders and what is wrong are below the box.
 */

import { useEffect, useId, useRef, useState } from "preact/hooks";

import { completions, listFolders, recentMatches, splitTyped, type Suggestion } from "../../app/folders.ts";
import { touch } from "../../app/layout.ts";
import { online } from "../../connection/connection.ts";
import { folderOf, shortNames } from "../../state/threads.ts";
import { visibleLine } from "../../text/bidi-guard.ts";
import type { FolderDialogProps } from "../parts/FolderDialog.tsx";
import { Icon } from "../parts/Icon.tsx";
import { lazy } from "../parts/lazy.tsx";

const FolderDialog = lazy<FolderDialogProps>(() => import("../parts/FolderDialog.tsx"));

/** Why the folder cannot be used. */
export interface FolderProblem {
  readonly words: string;
  /** Creates the folder, if it does not exist. */
  readonly create?: () => void;
}

interface Props {
  value: string;
  /** Recent folders. */
  places: readonly string[];
  problem: FolderProblem | undefined;
  onChange: (folder: string) => void;
}

interface FieldProps extends Props {
  onEnter: () => void;
  onLeave: () => void;
  /** Opens the dialog that lists folders. */
  onBrowse: () => void;
}

/** The element with what is wrong, which describes the field. */
const WRONG = "folder-wrong";

export function FolderField({ value, places, problem, onChange, onEnter, onLeave, onBrowse }: FieldProps) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  /** The value when the user entered the field: until it changes, all recent folders are suggested. */
  const [typed, setTyped] = useState<string>();
  const list = useSuggestions(typed, places, open);
  const shown = open && list.length > 0;

  const close = () => {
    setOpen(false);
    setActive(-1);
  };
  const type = (text: string) => {
    onChange(text);
    setTyped(text);
    setActive(-1);
    setOpen(true);
  };
  const choose = ({ path, recent }: Suggestion) => {
    if (recent) {
      onChange(path);
      close();
    } else {
      // The next press completes a folder in it.
      type(`${path}/`);
    }
    field.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) {
      return;
    }
    const { key } = event;
    if (key === "ArrowDown" || key === "ArrowUp") {
      event.preventDefault();
      const step = key === "ArrowDown" ? 1 : -1;
      if (!shown) {
        setTyped(undefined);
        setOpen(true);
      } else {
        // Beyond both ends is the field itself.
        setActive((now) => (now + step + 1 + list.length + 1) % (list.length + 1) - 1);
      }
    } else if (key === "Escape" && shown) {
      event.stopPropagation();
      close();
    } else if (key === "Escape") {
      event.stopPropagation();
      document.getElementById("prompt")?.focus();
    } else if (key === "Enter" && shown && list[active]) {
      event.preventDefault();
      event.stopPropagation();
      choose(list[active]);
    }
  };
  return (
    <div class="folder">
      <span class="folder-chip" aria-hidden="true">
        <Icon name="folder" size={14} />
        <bdi class="truncate">{value === "" ? "Choose a folder" : (shortNames(places).get(value) ?? folderOf(value))}</bdi>
      </span>
      <label class="sr-only" for="folder">
        Folder
      </label>
      <div class="folder-entry">
        <input
          ref={field}
          id="folder"
          class="field mono"
          role="combobox"
          aria-autocomplete="list"
          aria-expanded={shown}
          aria-controls={shown ? `${id}-list` : undefined}
          aria-activedescendant={shown && active >= 0 ? `${id}-${active}` : undefined}
          placeholder="~/project"
          autocomplete="off"
          autocapitalize="off"
          autocorrect="off"
          spellcheck={false}
          required
          value={value}
          aria-invalid={problem !== undefined}
          aria-describedby={problem && WRONG}
          title={visibleLine(value)}
          onInput={(event) => type(event.currentTarget.value)}
          onKeyDown={onKeyDown}
          onFocus={onEnter}
          onBlur={() => {
            close();
            onLeave();
          }}
        />
        {/* Where a button gets no focus from a press, the field keeps it. */}
        <button type="button" class="button" onMouseDown={(event) => event.preventDefault()} onClick={onBrowse}>
          Choose…
        </button>
        {shown && <List id={id} list={list} active={active} onChoose={choose} />}
      </div>
      <p class="sr-only" role="status">
        {shown ? `${list.length} ${list.length === 1 ? "folder" : "folders"}` : ""}
      </p>
    </div>
  );
}

interface NotesProps extends Props {
  /** Whether the dialog that lists folders is open. */
  browsing: boolean;
  onBrowse: (open: boolean) => void;
}

/** Recent folders, and what is wrong with the folder. */
export function FolderNotes({ value, places, problem, onChange, browsing, onBrowse }: NotesProps) {
  const others = places.filter((path) => path !== value).slice(0, CHIPS);
  const names = shortNames(places);
  const pickRecent = (path: string) => {
    onChange(path);
    // Its button goes, or shows another folder. On touch, the field would open the keyboard.
    if (!touch.value) {
      document.getElementById("folder")?.focus();
    }
  };
  return (
    <>
      {others.length > 0 && (
        <ul class="folder-chips" role="list" aria-label="Recent folders">
          {others.map((path, at) => (
            // By its place, so that the button with the focus stays.
            <li key={at}>
              <button type="button" class="button quiet" title={visibleLine(path)} onClick={() => pickRecent(path)}>
                <Icon name="folder" size={14} /> <bdi class="truncate">{names.get(path)}</bdi>
              </button>
            </li>
          ))}
        </ul>
      )}
      {problem !== undefined && (
        <div class="field-wrong" id={WRONG}>
          <p class="error-text" role="alert">
            {problem.words}
          </p>
          {problem.create && (
            <p class="field-wrong-acts">
              <button type="button" class="button" onClick={problem.create}>
                Create it
              </button>
              <button type="button" class="button" onClick={() => onBrowse(true)}>
                Choose another…
              </button>
            </p>
          )}
        </div>
      )}
      {browsing && (
        <FolderDialog
          start={value}
          onClose={() => onBrowse(false)}
          onChoose={(path) => {
            onChange(path);
            onBrowse(false);
          }}
        />
      )}
    </>
  );
}

interface ListProps {
  id: string;
  list: readonly Suggestion[];
  active: number;
  onChoose: (suggestion: Suggestion) => void;
}

function List({ id, list, active, onChoose }: ListProps) {
  useEffect(() => document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: "nearest" }), [active]);
  return (
    <ul class="folder-list" id={`${id}-list`} role="listbox" aria-label="Folders">
      {list.map((suggestion, at) => (
        <li
          key={suggestion.path}
          id={`${id}-${at}`}
          role="option"
          aria-selected={at === active}
          // The field keeps the focus.
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onChoose(suggestion)}
        >
          <Icon name="folder" size={14} />
          <bdi class="mono truncate" dir="ltr" title={visibleLine(suggestion.path)}>
            {visibleLine(suggestion.name)}
          </bdi>
          {suggestion.recent && <span class="hint">Recent</span>}
          {suggestion.repository && <span class="hint">Git</span>}
        </li>
      ))}
    </ul>
  );
}

/** Maximum number of recent folders beside the field. */
const CHIPS = 3;

/** Maximum number of suggestions of each kind. */
const RECENT = 6;
const FOLDERS = 200;

/** Returns the folders that fit what was typed; `undefined` stands for nothing yet. */
function useSuggestions(typed: string | undefined, places: readonly string[], open: boolean): readonly Suggestion[] {
  const [found, setFound] = useState<{ typed: string; list: readonly Suggestion[] }>();
  const split = typed === undefined ? undefined : splitTyped(typed);
  useEffect(() => {
    if (!open || !online.value || typed === undefined || split === undefined) {
      return;
    }
    let over = false;
    listFolders(split.folder).then(
      (listing) => over || setFound({ typed, list: completions(listing, split.start).slice(0, FOLDERS) }),
      // The user is still typing: the form says what is wrong when it is sent.
      () => over || setFound({ typed, list: [] }),
    );
    return () => void (over = true);
  }, [typed, open, online.value]);
  const recent = recentMatches(places, typed ?? "").slice(0, RECENT);
  const listed = found?.typed === typed && split !== undefined ? (found?.list ?? []) : [];
  const known = new Set(recent.map(({ path }) => path));
  return [...recent, ...listed.filter(({ path }) => !known.has(path))];
}
