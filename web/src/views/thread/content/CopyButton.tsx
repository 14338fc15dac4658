// A button that copies the adjacent content.

import { useEffect, useState } from "preact/hooks";

import { Icon } from "./Icon.tsx";

/** Milliseconds for which it confirms the copy. */
const SHOWN = 1_500;

export interface CopyProps {
  /** The text to copy; a function is called only on a click. */
  text: string | (() => string);
  /** The name of the content for screen readers: "command", "code". */
  what: string;
  class?: string;
}

export function CopyButton({ text, what, class: extra = "" }: CopyProps) {
  const [state, setState] = useState<"ready" | "copied" | "failed">("ready");
  useEffect(() => {
    if (state === "ready") return;
    const timer = setTimeout(() => setState("ready"), SHOWN);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async (event: Event) => {
    // Inside a fold's summary, the click must not open the fold.
    event.preventDefault();
    event.stopPropagation();
    setState((await copyText(typeof text === "string" ? text : text())) ? "copied" : "failed");
  };
  const said = { ready: `Copy ${what}`, copied: "Copied", failed: "Could not copy" }[state];
  return (
    <button type="button" class={`th-copy ${extra}`} title={said} aria-label={said} onClick={copy} data-state={state}>
      <Icon name={state === "copied" ? "check" : state === "failed" ? "cross" : "copy"} />
      <span class="sr-only" aria-live="polite">
        {state === "ready" ? "" : said}
      </span>
    </button>
  );
}

/** Copies a text, even without HTTPS, where the page has no clipboard. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const focused = document.activeElement;
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "sr-only";
  document.body.append(field);
  field.select();
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    field.remove();
    if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
  }
}
