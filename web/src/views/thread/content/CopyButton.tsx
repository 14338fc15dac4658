// A button that copies what stands beside it.

import { useEffect, useState } from "preact/hooks";

import { Icon } from "./Icon.tsx";

/** Milliseconds for which it says that it has copied. */
const SHOWN = 1_500;

export interface CopyProps {
  /** What is copied; asked for when it is wanted. */
  text: string | (() => string);
  /** What it is, for screen readers: "command", "code". */
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
    // Inside of a fold's summary it must not open the fold.
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

/** Copies; also where the page was not reached by https and has no clipboard. */
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
