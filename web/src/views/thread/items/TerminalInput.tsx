// What a user can do to a running command: type into its terminal, and end it.

import { useEffect, useId, useRef, useState } from "preact/hooks";

import { announce } from "../../../app/live-region.ts";
import { sentence } from "../../../connection/connection.ts";
import { visible, visibleLine } from "../../../text/bidi-guard.ts";
import { type ThreadContext, useThread } from "../content/context.ts";
import { drafts, type TerminalInputProps } from "./typing.ts";

import "./terminal-input.css";

/** Maximum size of one request, and of one line of a terminal, in bytes. */
const PART_BYTES = 2048;
const LINE_BYTES = 4095;

const INTERRUPT = "\u0003";
const END_OF_INPUT = "\u0004";

/** The waits that were announced, by item. */
const announced = new Set<string>();

/** Draws nothing where the user may not act, or the command has ended. */
export function TerminalInput({ item, line }: TerminalInputProps) {
  const { terminals, folds } = useThread();
  const { itemId, terminalId } = item;
  const waiting = item.waiting === true;
  const key = `${itemId}/input`;
  const [asked, setAsked] = useState(false);
  const [error, setError] = useState<string>();
  const opened = asked || waiting || folds.get(key) === true;
  const ended = item.outcome != null;
  useEffect(() => {
    if (!waiting) {
      announced.delete(itemId);
    } else if (terminals !== undefined && !announced.has(itemId)) {
      announced.add(itemId);
      announce(`Waiting for input: ${visibleLine(line)}`);
    }
  }, [waiting, terminals === undefined]);
  useEffect(() => {
    // The form stays until the end of the command, whatever it writes meanwhile.
    if (opened) folds.set(key, true);
  }, [opened]);
  if (terminals === undefined || ended) {
    return null;
  }
  const attempt = async (act: () => Promise<void>): Promise<boolean> => {
    try {
      await act();
      setError(undefined);
      return true;
    } catch (why) {
      setError(sentence(why));
      return false;
    }
  };
  return (
    <div class="th-input" data-waiting={waiting}>
      {waiting && <p class="th-input-waits">Waiting for input. After a while without any, the command gets an end of input.</p>}
      {opened ? (
        <TypeForm
          itemId={itemId}
          secret={waiting && item.secret === true}
          focus={asked}
          disabled={!terminals.online}
          send={(text) => attempt(() => inParts(text, (part) => terminals.typeIn(terminalId, part)))}
        />
      ) : (
        <button type="button" class="th-link" onClick={() => setAsked(true)}>
          Type input
        </button>
      )}
      <button type="button" class="th-link" disabled={!terminals.online} onClick={() => void attempt(() => terminals.endCommand(terminalId))}>
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
  itemId: string;
  /** Whether the terminal does not show what is typed. */
  secret: boolean;
  /** Whether the field takes the focus: the user has just asked for it. */
  focus: boolean;
  disabled: boolean;
  send: (text: string) => Promise<boolean>;
}

function TypeForm({ itemId, secret, focus, disabled, send }: TypeFormProps) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const draft = drafts.get(itemId);
  const [typed, setTyped] = useState(draft?.text ?? "");
  const [hidden, setHidden] = useState(secret || draft?.hidden === true);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    if (focus) field.current?.focus();
  }, []);
  // What was begun hidden stays hidden.
  useEffect(() => {
    if (secret || typed === "") setHidden(secret);
  }, [secret]);
  const change = (text: string) => setTyped(text);
  useEffect(() => {
    if (typed === "") drafts.delete(itemId);
    else drafts.set(itemId, { text: typed, hidden });
  }, [typed, hidden]);
  const press = async (text: string) => {
    setBusy(true);
    const sent = await send(text);
    setBusy(false);
    return sent;
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    if (await press(`${typed}\n`)) change("");
  };
  return (
    <form class="th-input-form" onSubmit={(event) => void submit(event)}>
      <label class="sr-only" for={id}>
        {hidden ? "Hidden input for the command" : "Input for the command"}
      </label>
      {/* Not a password field: browsers would fill in the user's password for this page. */}
      <input
        ref={field}
        id={id}
        class={hidden ? "field mono th-input-hidden" : "field mono"}
        type="text"
        value={typed}
        autocomplete="off"
        autocorrect="off"
        autocapitalize="off"
        spellcheck={false}
        enterkeyhint="send"
        data-1p-ignore
        data-lpignore="true"
        data-bwignore
        placeholder={hidden ? "Hidden input" : "Input"}
        onInput={(event) => change(event.currentTarget.value)}
      />
      <button type="submit" class="button" disabled={busy || disabled}>
        Enter
      </button>
      <span class="th-input-keys">
        <button type="button" class="th-link" aria-pressed={hidden} onClick={() => setHidden(!hidden)}>
          Hide
        </button>
        <button type="button" class="th-link" title="Ctrl+D" disabled={busy || disabled} onClick={() => void press(END_OF_INPUT)}>
          End of input
        </button>
        <button type="button" class="th-link" title="Ctrl+C" disabled={busy || disabled} onClick={() => void press(INTERRUPT)}>
          Interrupt
        </button>
      </span>
    </form>
  );
}

/** Sends a line in parts that one request may have. */
async function inParts(text: string, send: ThreadTyping): Promise<void> {
  const encoder = new TextEncoder();
  if (encoder.encode(text).length > LINE_BYTES) {
    throw new Error(`A terminal takes lines of at most ${LINE_BYTES} bytes.`);
  }
  let part = "";
  for (const character of text) {
    if (encoder.encode(part + character).length > PART_BYTES) {
      await send(part);
      part = "";
    }
    part += character;
  }
  await send(part);
}

type ThreadTyping = (text: string) => ReturnType<NonNullable<ThreadContext["terminals"]>["typeIn"]>;
