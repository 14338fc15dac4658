// All of a command's output in a dialog, with a field to find text. Loaded when it is opened.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { sentence } from "../../../connection/connection.ts";
import { AnsiText, type Line, textOf } from "../../../text/ansi.ts";
import { count } from "../../../text/format.ts";
import { Dialog } from "../../parts/Dialog.tsx";
import { withoutLastEmpty } from "./Terminal.tsx";
import { TerminalScreen } from "./TerminalScreen.tsx";

import "./viewer.css";

export interface ViewerProps {
  source: { label: string; load: () => Promise<string> };
  onClose: () => void;
}

export function OutputViewer({ source: { label, load }, onClose }: ViewerProps) {
  const [lines, setLines] = useState<readonly Line[]>();
  const [error, setError] = useState<string>();
  useEffect(() => {
    load().then(
      (output) => {
        const text = new AnsiText();
        text.feed(output);
        setLines(withoutLastEmpty(text.lines));
      },
      (why: unknown) => setError(sentence(why)),
    );
  }, []);
  return (
    <Dialog title={label} class="th-viewer" onClose={onClose}>
      {error !== undefined ? (
        <p class="error-text" role="alert">
          {error}
        </p>
      ) : lines === undefined ? (
        <p role="status">Loading…</p>
      ) : (
        <Found lines={lines} label={label} />
      )}
    </Dialog>
  );
}

function Found({ lines, label }: { lines: readonly Line[]; label: string }) {
  const field = useRef<HTMLInputElement>(null);
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const found = useMemo(() => linesWith(lines, query), [lines, query]);
  const step = (by: number) => found.length > 0 && setAt((at + by + found.length) % found.length);
  useEffect(() => {
    field.current?.focus();
    // The browser's own search would find the visible lines only.
    const find = (event: KeyboardEvent) => {
      if (event.key === "f" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        field.current?.select();
      }
    };
    addEventListener("keydown", find);
    return () => removeEventListener("keydown", find);
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") {
      event.preventDefault();
      step(event.shiftKey ? -1 : 1);
    }
  };
  return (
    <div class="th-viewer-inside">
      <div class="th-viewer-find">
        <input
          ref={field}
          class="field"
          type="text"
          inputMode="search"
          aria-label="Find in the output"
          placeholder="Find"
          value={query}
          onKeyDown={onKeyDown}
          onInput={(event) => {
            setQuery(event.currentTarget.value);
            setAt(0);
          }}
        />
        <span class="th-quiet" role="status">
          {query === "" ? `${count(lines.length)} lines` : found.length === 0 ? "No matches" : `${count(at + 1)} of ${count(found.length)}`}
        </span>
        <button type="button" class="button" disabled={found.length === 0} onClick={() => step(-1)}>
          Previous
        </button>
        <button type="button" class="button" disabled={found.length === 0} onClick={() => step(1)}>
          Next
        </button>
      </div>
      <TerminalScreen lines={lines} label={label} query={query} current={found[at]} />
    </div>
  );
}

function linesWith(lines: readonly Line[], query: string): number[] {
  const wanted = query.toLowerCase();
  return wanted === "" ? [] : lines.flatMap((line, at) => (textOf(line).toLowerCase().includes(wanted) ? [at] : []));
}
