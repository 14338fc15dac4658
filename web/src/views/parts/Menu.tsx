/**
 * A button with a menu. The arrow keys move in it, Escape and Tab close it, and the focus returns to the button. In a list, a right
 * click on the button's row opens the menu at the pointer.
 */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";

import { Icon, type IconName } from "./Icon.tsx";
import { useBack } from "./use-back.ts";

export interface MenuItem {
  readonly label: string;
  readonly icon: IconName;
  readonly run: () => void;
  readonly danger?: boolean;
  readonly disabled?: boolean;
}

interface Props {
  label: string;
  items: readonly MenuItem[];
  children: ComponentChildren;
  class?: string;
  tabIndex?: number;
  /** A selector of the element around the button on which a right click, or the menu key, opens the menu. */
  within?: string;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

export function Menu({ label, items, children, class: extra = "", tabIndex, within }: Props) {
  const [open, setOpen] = useState(false);
  /** Where a right click opened the menu; without a place, it is at its button. */
  const [at, setAt] = useState<Point>();
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);

  const close = (back: boolean) => {
    setOpen(false);
    if (back) {
      button.current?.focus();
    }
  };
  useBack(open, () => close(true));
  useLayoutEffect(() => {
    const menu = list.current;
    if (!open || !menu || !button.current) {
      return;
    }
    // Positioned manually: the scrolling list around its button must not clip it.
    const place = button.current.getBoundingClientRect();
    const { width, height } = menu.getBoundingClientRect();
    const [bottom, top, left] = at ? [at.y, at.y, at.x] : [place.bottom + 4, place.top - 4, place.right - width];
    menu.style.top = `${Math.max(8, bottom + height <= innerHeight ? bottom : top - height)}px`;
    menu.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
    menu.querySelector<HTMLElement>("[role=menuitem]")?.focus();
  }, [open, at]);
  useEffect(() => {
    const around = within === undefined ? null : button.current?.closest<HTMLElement>(within);
    if (!around) {
      return;
    }
    const onContextMenu = (event: MouseEvent) => {
      // Shift and a right click, and a long touch, are for the browser's own menu, which opens links in tabs.
      const isMouse = event.button === 2;
      if (list.current?.contains(event.target as Node) || (isMouse && event.shiftKey) || (event as PointerEvent).pointerType === "touch") {
        return;
      }
      event.preventDefault();
      setAt(isMouse ? { x: event.clientX, y: event.clientY } : undefined);
      setOpen(true);
    };
    around.addEventListener("contextmenu", onContextMenu);
    return () => around.removeEventListener("contextmenu", onContextMenu);
  }, [within]);
  useEffect(() => {
    if (!open) {
      return;
    }
    const outside = (event: Event) => {
      if (!list.current?.contains(event.target as Node) && !button.current?.contains(event.target as Node)) {
        close(false);
      }
    };
    const shut = () => close(false);
    addEventListener("pointerdown", outside, true);
    addEventListener("resize", shut);
    return () => {
      removeEventListener("pointerdown", outside, true);
      removeEventListener("resize", shut);
    };
  }, [open]);

  const onKeyDown = (event: KeyboardEvent) => {
    const all = [...(list.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 + all.length, Home: 0, End: all.length - 1 }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      all[to % all.length]?.focus();
    } else if (event.key === "Escape" || event.key === "Tab") {
      event.preventDefault();
      event.stopPropagation();
      close(true);
    }
  };

  return (
    <>
      <button
        ref={button}
        type="button"
        class={`button quiet icon ${extra}`}
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        tabIndex={tabIndex}
        onClick={(event) => {
          event.preventDefault();
          setAt(undefined);
          setOpen(!open);
        }}
      >
        {children}
      </button>
      {open && (
        <div class="menu" role="menu" id={id} aria-label={label} ref={list} onKeyDown={onKeyDown}>
          {items.map(({ label: words, icon, run, danger, disabled }) => (
            <button
              type="button"
              role="menuitem"
              key={words}
              class={danger ? "menu-item danger" : "menu-item"}
              tabIndex={-1}
              aria-disabled={disabled}
              onClick={() => {
                if (!disabled) {
                  close(true);
                  run();
                }
              }}
            >
              <Icon name={icon} />
              {words}
            </button>
          ))}
        </div>
      )}
    </>
  );
}
