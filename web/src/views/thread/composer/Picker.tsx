// A small button that shows a value and opens the list of choices, such as the mode selector. It uses a list box, so
// that descriptions fit and the usual keys work.

import { useEffect, useId, useRef, useState } from "preact/hooks";

import { visibleLine, visibleWords } from "../../../text/bidi-guard.ts";
import type { Choice } from "../../../state/acp.ts";
import { useBack } from "../../parts/use-back.ts";
import { usePopoverPosition } from "./popover-position.ts";
import { Icon } from "../content/Icon.tsx";

export interface PickerProps {
  /** The name of the setting: "Mode". */
  label: string;
  description?: string | undefined;
  value: string;
  choices: readonly Choice[];
  onPick: (value: string) => void;
  disabled?: boolean;
  /** ACP's category of the setting, by which a key finds it. */
  category?: string | undefined;
}

/** Milliseconds after which typed letters start a new search. */
const TYPING = 700;

export function Picker({ label, description, value, choices, onPick, disabled = false, category }: PickerProps) {
  const id = useId();
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  const place = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const typed = useRef({ letters: "", at: 0 });
  /** What had the focus: the button, or the message box if a key opened the list. */
  const before = useRef<HTMLElement | undefined>(undefined);
  const current = choices.find((choice) => choice.value === value);

  const show = () => {
    setActive(Math.max(0, choices.findIndex((choice) => choice.value === value)));
    before.current = document.activeElement?.closest<HTMLElement>("textarea") ?? undefined;
    setOpen(true);
  };
  const hide = () => {
    setOpen(false);
    (before.current ?? button.current)?.focus();
  };
  const pick = (choice: Choice | undefined) => {
    hide();
    if (choice !== undefined && choice.value !== value) onPick(choice.value);
  };
  useBack(open, hide);
  usePopoverPosition(place, list, open);
  useEffect(() => {
    if (!open) return;
    list.current?.focus({ preventScroll: true });
    const elsewhere = (event: Event) => {
      if (!place.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", elsewhere);
    return () => document.removeEventListener("pointerdown", elsewhere);
  }, [open]);
  useEffect(() => {
    if (open) list.current?.querySelector(`[data-at="${active}"]`)?.scrollIntoView?.({ block: "nearest" });
  }, [open, active]);

  const onKeyDown = (event: KeyboardEvent) => {
    const moves: Record<string, number> = {
      ArrowDown: Math.min(choices.length - 1, active + 1),
      ArrowUp: Math.max(0, active - 1),
      Home: 0,
      End: choices.length - 1,
    };
    if (Object.hasOwn(moves, event.key)) setActive(moves[event.key] ?? 0);
    else if (event.key === "Enter" || event.key === " ") pick(choices[active]);
    else if (event.key === "Escape") hide();
    else if (event.key === "Tab") {
      setOpen(false);
      return;
    } else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey) find(event.key);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const find = (letter: string) => {
    const now = Date.now();
    const letters = (now - typed.current.at < TYPING ? typed.current.letters : "") + letter.toLowerCase();
    typed.current = { letters, at: now };
    const at = choices.findIndex((choice) => choice.name.toLowerCase().startsWith(letters));
    if (at !== -1) setActive(at);
  };

  return (
    <div class="th-picker" ref={place}>
      <button
        type="button"
        ref={button}
        class="th-picker-button"
        data-category={category}
        aria-haspopup="listbox"
        aria-expanded={open}
        aria-controls={open ? `${id}-list` : undefined}
        aria-label={`${label}: ${visibleLine(current?.name ?? value)}`}
        title={description === undefined ? label : `${label}: ${visibleWords(description)}`}
        disabled={disabled}
        onClick={() => (open ? hide() : show())}
        onKeyDown={(event) => {
          if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
          event.preventDefault();
          show();
        }}
      >
        <span class="truncate">{visibleLine(current?.name ?? value)}</span>
        <Icon name="down" />
      </button>
      {open && (
        <ul
          ref={list}
          id={`${id}-list`}
          class="th-picker-list"
          role="listbox"
          tabIndex={-1}
          aria-label={label}
          aria-activedescendant={`${id}-${active}`}
          onKeyDown={onKeyDown}
        >
          {choices.map((choice, at) => (
            <>
              {choice.group !== undefined && choice.group !== choices[at - 1]?.group && (
                <li class="th-picker-group" role="presentation" key={`group ${choice.group}`}>
                  {choice.group}
                </li>
              )}
              <li
                key={choice.value}
                id={`${id}-${at}`}
                data-at={at}
                role="option"
                aria-selected={choice.value === value}
                class={`th-picker-choice ${at === active ? "th-active" : ""}`}
                onPointerMove={() => setActive(at)}
                onClick={() => pick(choice)}
              >
                <span class="th-picker-mark" aria-hidden="true">
                  {choice.value === value ? "●" : "○"}
                </span>
                <span>
                  <span class="th-picker-name">{choice.name}</span>
                  {choice.description !== undefined && choice.description !== "" && (
                    <span class="th-picker-about">{visibleWords(choice.description)}</span>
                  )}
                </span>
              </li>
            </>
          ))}
        </ul>
      )}
    </div>
  );
}
