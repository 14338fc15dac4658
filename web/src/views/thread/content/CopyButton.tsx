// A button that copies the adjacent content.

import { useEffect, useState } from "preact/hooks";

import { copyText } from "../../../app/clipboard.ts";
import { Icon, type IconName } from "./Icon.tsx";

import "./shared.css";

/** Milliseconds for which it confirms the copy. */
const SHOWN = 1_500;

export interface CopyProps {
  /** The text to copy; a function is called only on a click. */
  text: string | (() => string);
  /** The name of the content for screen readers: "command", "code". */
  what: string;
  class?: string;
  /** The icon until it is clicked. */
  icon?: IconName;
}

export function CopyButton({ text, what, class: extra = "", icon = "copy" }: CopyProps) {
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
  const said = { ready: `Copy ${what}`, copied: "Copied", failed: "Couldn’t copy" }[state];
  return (
    <button type="button" class={`th-copy ${extra}`} title={said} aria-label={said} onClick={copy} data-state={state}>
      <Icon name={state === "copied" ? "check" : state === "failed" ? "cross" : icon} />
      <span class="sr-only" aria-live="polite">
        {state === "ready" ? "" : said}
      </span>
    </button>
  );
}
