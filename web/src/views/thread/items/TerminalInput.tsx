// What a user can do to a running command: type into its terminal, and end it.

import type { Item, TerminalCommand } from "@acpd/client";
import { useEffect, useId, useRef, useState } from "preact/hooks";

import { announce } from "../../../app/live-region.ts";
import { sentence } from "../../../connection/connection.ts";
import { visible } from "../../../text/bidi-guard.ts";
import { useThread } from "../content/context.ts";

import "./terminal-input.css";

/** Maximum number of UTF-16 units typed at once: at most 2048 bytes with the end of the line. */
const TYPED_CHARS = 680;

/** The keys of a terminal that a form has no use for otherwise. */
const INTERRUPT = "\u0003";
const END_OF_INPUT = "\u0004";

/** Draws nothing where the user may not act, or the command has ended. */
export function TerminalInput({ item }: { item: Item & TerminalCommand }) {
  const { terminals } = useThread();
  const waiting = item.waiting === true;
  const [opened, setOpened] = useState(false);
  const [error, setError] = useState<string>();
  useEffect(() => {
    if (waiting) announce("A command waits for input");
  }, [waiting]);
  if (terminals === undefined || item.outcome != null) {
    return null;
  }
  const attempt = (act: Promise<void>) =>
    act.then(
      () => setError(undefined),
      (why: unknown) => setError(sentence(why)),
    );
  return (
    <div class="th-input" data-waiting={waiting}>
      {waiting && <p class="th-input-waits">Waits for input. If none comes, it ends after a minute.</p>}
      {waiting || opened ? (
        <TypeForm output={item.output ?? ""} focus={!waiting} send={(text) => attempt(terminals.typeIn(item.terminalId, text))} />
      ) : (
        <button type="button" class="th-link" onClick={() => setOpened(true)}>
          Type into it
        </button>
      )}
      <button type="button" class="th-link" onClick={() => void attempt(terminals.endCommand(item.terminalId))}>
        End command
      </button>
      {error !== undefined && (
        <p class="error-text" role="alert">
          {visible(error)}
        </p>
      )}
    </div>
  );
}

interface TypeFormProps {
  /** The output so far, whose end is what the program asks. */
  output: string;
  /** Whether the field takes the focus: the user has just asked for it. */
  focus: boolean;
  send: (text: string) => Promise<void>;
}

function TypeForm({ output, focus, send }: TypeFormProps) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState("");
  const [hidden, setHidden] = useState<boolean>();
  const hide = hidden ?? asksForSecret(output);
  useEffect(() => {
    if (focus) field.current?.focus();
  }, []);
  const submit = (event: Event) => {
    event.preventDefault();
    setTyped("");
    void send(`${typed}\n`);
  };
  return (
    <form class="th-input-form" onSubmit={submit}>
      <label class="sr-only" for={id}>
        Input for the command
      </label>
      <input
        ref={field}
        id={id}
        class="field mono"
        {...(hide ? ({ type: "password" } as const) : ({ type: "text" } as const))}
        value={typed}
        maxLength={TYPED_CHARS}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        placeholder={hide ? "Hidden input" : "Input"}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      <button type="submit" class="button">
        Enter
      </button>
      <span class="th-input-keys">
        <button type="button" class="th-link" aria-pressed={hide} onClick={() => setHidden(!hide)}>
          {hide ? "Show" : "Hide"}
        </button>
        <button type="button" class="th-link" title="Ctrl+D" onClick={() => void send(END_OF_INPUT)}>
          End of input
        </button>
        <button type="button" class="th-link" title="Ctrl+C" onClick={() => void send(INTERRUPT)}>
          Interrupt
        </button>
      </span>
    </form>
  );
}

/** Returns whether the last line of the output asks for a secret. */
export function asksForSecret(output: string): boolean {
  const last = output.trimEnd().split(/[\r\n]/).at(-1) ?? "";
  return /pass(word|phrase|code)|\bpin\b|secret|token|api[ -]?key/i.test(last);
}
