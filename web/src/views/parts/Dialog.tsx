/** A modal dialog: the browser's own, which traps the focus. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

import { Icon } from "./Icon.tsx";
import { useBack } from "./use-back.ts";

interface Props {
  title: string;
  class?: string;
  onClose: () => void;
  children: ComponentChildren;
}

export function Dialog({ title, class: extra = "", onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useBack(true, onClose);
  useEffect(() => {
    const it = dialog.current;
    const before = document.activeElement as HTMLElement | null;
    it?.showModal();
    return () => {
      it?.close();
      // The browser restores the focus only while the dialog is in the page.
      if (document.activeElement === document.body) {
        before?.focus();
      }
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={`dialog ${extra}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        // A click on the dialog itself, and not on its content, is a click on the backdrop.
        if (event.target === dialog.current) {
          onClose();
        }
      }}
    >
      <div class="dialog-inside">
        <header class="dialog-head">
          <h2 id={id}>{title}</h2>
          <button type="button" class="button quiet icon" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
