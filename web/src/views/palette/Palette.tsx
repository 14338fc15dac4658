/** The palette: one field for threads, commands, agents and settings. */

import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import { over } from "../../app/layout.ts";
import { threads } from "../../app/threads.ts";
import { AgentGlyph } from "../parts/AgentGlyph.tsx";
import { Icon } from "../parts/Icon.tsx";
import { useBack } from "../parts/use-back.ts";
import { entriesFor, type Entry } from "./commands.ts";

import "./palette.css";

export default function Palette() {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const [typed, setTyped] = useState("");
  const [active, setActive] = useState(0);
  const entries = useMemo(() => entriesFor(typed), [typed, threads.value]);
  const chosen = entries[Math.min(active, entries.length - 1)];
  const close = () => (over.value = undefined);
  useBack(true, close);
  // Before the next key, which belongs into the field.
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  const run = (entry: Entry | undefined) => {
    if (entry) {
      // Closing gives the focus back, and the entry may move it.
      dialog.current?.close();
      close();
      entry.run();
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) {
      return;
    }
    const last = entries.length - 1;
    const at = Math.min(active, last);
    const to = { ArrowDown: at === last ? 0 : at + 1, ArrowUp: at <= 0 ? last : at - 1, PageDown: Math.min(last, at + 8), PageUp: Math.max(0, at - 8) }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      setActive(to);
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(chosen);
    }
  };
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Command palette"
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <div class="palette-field">
        <Icon name="search" />
        <input
          type="text"
          role="combobox"
          aria-label="Search threads, commands, agents and settings"
          aria-autocomplete="list"
          aria-expanded={true}
          aria-controls={`${id}-list`}
          aria-activedescendant={chosen && `${id}-${entries.indexOf(chosen)}`}
          placeholder="Search threads, commands, agents and settings"
          autocomplete="off"
          spellcheck={false}
          dir="auto"
          value={typed}
          onInput={(event) => {
            setTyped(event.currentTarget.value);
            setActive(0);
          }}
          onKeyDown={onKeyDown}
        />
        <button type="button" class="button quiet icon" aria-label="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </div>
      <ul ref={list} id={`${id}-list`} class="palette-list" role="listbox" aria-label="Results">
        {entries.map((entry, at) => (
          <>
            {entry.group !== entries[at - 1]?.group && (
              <li key={`group ${entry.group}`} class="side-title" role="presentation">
                {entry.group}
              </li>
            )}
            <li
              key={entry.key}
              id={`${id}-${at}`}
              role="option"
              aria-selected={entry === chosen}
              class={entry === chosen ? "palette-entry is-active" : "palette-entry"}
              // The field keeps the focus.
              onPointerDown={(event) => event.preventDefault()}
              onPointerMove={() => setActive(at)}
              onClick={() => run(entry)}
            >
              {entry.agentType === undefined ? <Icon name={entry.icon} size={14} /> : <AgentGlyph agentType={entry.agentType} />}
              <bdi class="truncate">{entry.label}</bdi>
              {entry.about !== undefined && <span class="palette-about truncate">{entry.about}</span>}
            </li>
          </>
        ))}
        {entries.length === 0 && (
          <li class="empty" role="presentation">
            Nothing found
          </li>
        )}
      </ul>
    </dialog>
  );
}
