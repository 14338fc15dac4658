/**
 * Selects several rows of the list of threads, acts on them together, and orders the pinned ones. In: clicks with Ctrl, Cmd or Shift, keys on a row, and long
 * presses by touch, after which taps select. Out: the selection, and the bar below the list with what can be done.
 */

import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { focusWhenThere } from "../../app/focus.ts";
import { touch } from "../../app/layout.ts";
import { announce } from "../../app/live-region.ts";
import { see } from "../../app/seen.ts";
import { eachInOrder, type Failure, inWords, type Run, type Subject, work as running, workOn } from "../../app/selected-threads.ts";
import { selection } from "../../app/selection.ts";
import { closeDeleted, closeGone, listSections } from "../../app/threads.ts";
import { toast } from "../../app/toasts.ts";
import { client, online, standing } from "../../connection/connection.ts";
import { MOST, nextFocus, stillShown, toggled, withRange } from "../../state/selection.ts";
import { type Listed, nameOf } from "../../state/threads.ts";
import { Dialog } from "../parts/Dialog.tsx";
import { Icon, type IconName } from "../parts/Icon.tsx";
import { pinGestures } from "./pin-gestures.ts";
import { query } from "./SearchField.tsx";
import { gestures } from "./select-gestures.ts";

import "./selecting.css";

/** The threads that the list shows, in its order, also those that it does not render. */
const shownThreads = (): Listed[] => (listSections.value ?? []).flatMap(({ threads }) => threads);
const orderOf = () => shownThreads().map(({ id }) => id);

export interface SelectingProps {
  list: RefObject<HTMLElement | null>;
}

export default function Selecting({ list }: SelectingProps) {
  // The results are no list to select from.
  const isSearching = query.value.trim() !== "";
  useEffect(() => {
    const element = list.current;
    if (!element || isSearching) {
      return;
    }
    const endPins = pinGestures(element);
    const end = gestures(element, {
      selected: () => selection.peek(),
      byTaps: () => touch.peek(),
      toggle: (id) => {
        const before = selection.peek();
        const next = toggled(before, id);
        if (next.size === before.size) {
          announce(`At most ${MOST} threads can be selected`);
        }
        set(next);
      },
      range: (from, to, base) => set(withRange(base ?? selection.peek(), orderOf(), from, to)),
      all: () => set(withRange(new Set(), orderOf(), orderOf()[0] ?? "", orderOf().at(-1) ?? "")),
      clear: () => set(new Set()),
    });
    // The browser's own menu of a long touch is off only while something else comes of it.
    element.toggleAttribute("data-selectable", true);
    return () => {
      end();
      endPins();
      element.removeAttribute("data-selectable");
      selection.value = new Set();
    };
  }, [isSearching]);
  const chosen = shownThreads().filter(({ id }) => selection.value.has(id));
  // What a filter hides, or what has left the list, must not be acted on unseen.
  useEffect(() => {
    selection.value = stillShown(selection.peek(), orderOf());
  }, [listSections.value]);
  return <Bar list={list} chosen={chosen} isSearching={isSearching} />;
}

/** Changes the selection, and says so. */
function set(next: ReadonlySet<string>): void {
  const before = selection.peek();
  if (next.size !== before.size || [...next].some((id) => !before.has(id))) {
    selection.value = next;
    announce(next.size === 0 ? "Nothing selected" : `${next.size} selected`);
  }
}

/** What could not be done, in words: "archive". */
interface Outcome {
  readonly verb: string;
  readonly failures: readonly Failure[];
}

interface BarProps extends SelectingProps {
  chosen: readonly Listed[];
  isSearching: boolean;
}

function Bar({ list, chosen, isSearching }: BarProps) {
  const { value: work } = running;
  const [outcome, setOutcome] = useState<Outcome>();
  const [deleting, setDeleting] = useState(false);
  const bar = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.classList.toggle("is-selecting", chosen.length > 0);
    return () => list.current?.classList.remove("is-selecting");
  }, [chosen.length > 0]);
  // The button that was pressed is gone while it works.
  useEffect(() => {
    if (work !== undefined && document.activeElement === document.body) {
      bar.current?.focus();
    }
  }, [work !== undefined]);
  // The question is about threads that another device, a filter or a search has taken away: it must not come back with the next ones.
  useEffect(() => {
    if (chosen.length === 0) {
      setDeleting(false);
    }
  }, [chosen.length === 0]);
  useEffect(() => {
    if (isSearching) {
      setOutcome(undefined);
    }
  }, [isSearching]);
  if (work === undefined && (isSearching || (chosen.length === 0 && outcome === undefined))) {
    return null;
  }
  const { value: who } = standing;
  const role = who.name === "in" ? who.session.role : "observer";
  const may = role === "operator" || role === "owner";
  const isOff = work !== undefined || chosen.length === 0 || !online.value;

  /** Does something to each selected thread. Those that it fails for stay selected, and are named. */
  const act = async (
    verbs: readonly [verb: string, doing: string, done: string],
    run: Run,
    undo?: Run,
  ) => {
    const [verb, doing, past] = verbs;
    const order = orderOf();
    setOutcome(undefined);
    await workOn(doing, chosen, run, ({ done, failures }) => {
      // Meanwhile the user may search, or write elsewhere.
      const isHidden = bar.current === null || query.peek().trim() !== "";
      const hasFocus = document.activeElement === document.body || bar.current?.contains(document.activeElement) === true;
      setOutcome(failures.length > 0 && !isHidden ? { verb, failures } : undefined);
      const over = new Set(done.map(({ id }) => id));
      selection.value = new Set([...selection.peek()].filter((id) => !over.has(id)));
      if (done.length > 0) {
        toast(`${past} ${inWords(done)}`, undo && { action: { label: "Undo", run: () => void revert(undo, done) } });
      }
      if (failures.length > 0 && isHidden) {
        toast(`Couldn’t ${verb} ${inWords(failures.map(({ thread }) => thread))}: ${failures[0]!.why}`, { kind: "error" });
      } else if (hasFocus && !isHidden && failures.length === 0) {
        focusRow(order, over);
      }
    });
  };
  const close = () => {
    setOutcome(undefined);
    const before = selection.peek();
    set(new Set());
    focusRow(orderOf(), new Set(), [...before][0]);
  };
  const areAllPinned = chosen.every(({ pinned }) => pinned === true);
  const count = inCount(chosen.length);
  const button = (title: string, icon: IconName, run: () => void, danger = false, label = `${title} ${count}`) => (
    <button
      type="button"
      class={danger ? "button quiet icon danger" : "button quiet icon"}
      aria-label={label}
      title={title}
      aria-disabled={isOff || undefined}
      onClick={() => !isOff && run()}
    >
      <Icon name={icon} />
    </button>
  );
  return (
    <div
      ref={bar}
      class="select-bar"
      role="group"
      aria-label="Selected threads"
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key === "Escape" && !deleting) {
          event.preventDefault();
          event.stopPropagation();
          close();
        }
      }}
    >
      {outcome && (
        <div class="select-failures" role="alert" tabIndex={0} aria-label={`Not done: ${outcome.verb}`}>
          <p class="error-text">
            Couldn’t {outcome.verb} {inCount(outcome.failures.length)}:
          </p>
          <ul role="list">
            {outcome.failures.map(({ thread, why }) => (
              <li key={thread.id}>
                <bdi>{nameOf(thread)}</bdi>: {why}
              </li>
            ))}
          </ul>
        </div>
      )}
      <div class="select-acts">
        <span class="select-count truncate">{work ? `${work.verb} ${work.done} of ${work.of}…` : `${chosen.length} selected`}</span>
        {work ? (
          <button type="button" class="button" onClick={() => work.abort.abort()}>
            Stop
          </button>
        ) : (
          <>
            {may &&
              (areAllPinned
                ? button("Unpin", "unpin", () => void act(["unpin", "Unpinning", "Unpinned"], setPin(false), pinAgain(chosen)))
                : button("Pin", "pin", () => void act(["pin", "Pinning", "Pinned"], setPin(true))))}
            {button("Mark as read", "read", () => {
              chosen.forEach(({ id, updatedAt }) => see(id, updatedAt));
              toast(`Marked ${inWords(chosen)} as read`);
              selection.value = new Set();
              focusRow(orderOf(), new Set(), chosen[0]?.id);
            }, false, `Mark ${count} as read`)}
            {may && button("Archive", "archive", () => void act(["archive", "Archiving", "Archived"], archiveOne, unarchiveOne))}
            {role === "owner" && button("Delete", "trash", () => setDeleting(true), true)}
            <button type="button" class="button quiet icon" aria-label="Clear the selection" title="Clear the selection (Esc)" onClick={close}>
              <Icon name="close" />
            </button>
          </>
        )}
      </div>
      {deleting && (
        <Confirm
          threads={chosen}
          onClose={() => setDeleting(false)}
          onConfirm={() => {
            setDeleting(false);
            void act(["delete", "Deleting", "Deleted"], deleteOne);
          }}
        />
      )}
    </div>
  );
}

const setPin =
  (pinned: boolean): Run =>
  (now, { id: threadId }) =>
    now.call("thread/pin/set", { threadId, pinned });
/** Returns what pins threads at the places that they have now. */
const pinAgain = (threads: readonly Listed[]): Run => {
  const places = new Map(threads.map(({ id, pinPlace }) => [id, pinPlace]));
  return (now, { id: threadId }) => now.call("thread/pin/set", { threadId, pinned: true, place: places.get(threadId) });
};
const archiveOne: Run = async (now, { id: threadId }) => {
  await now.call("thread/archive", { threadId });
  closeGone(threadId);
};
const unarchiveOne: Run = (now, { id: threadId }) => now.call("thread/unarchive", { threadId });
const deleteOne: Run = async (now, { id: threadId }) => {
  await now.call("thread/delete", { threadId });
  closeDeleted(threadId);
};

async function revert(undo: Run, threads: readonly Subject[]): Promise<void> {
  const { failures } = await eachInOrder(threads, undo, () => {}, new AbortController().signal);
  if (failures.length > 0) {
    toast(`Couldn’t undo it for ${inWords(failures.map(({ thread }) => thread))}: ${failures[0]!.why}`, { kind: "error" });
  }
}

/** Focuses a row of the list once it is there: the wanted one, or the one after those that leave. */
function focusRow(order: readonly string[], leaving: ReadonlySet<string>, wanted = nextFocus(order, leaving)): void {
  const selector = wanted === undefined ? undefined : `.side-list [data-thread="${CSS.escape(wanted)}"] [data-rove]`;
  // A long list may not render it, but it always renders the row that Tab reaches.
  requestAnimationFrame(() =>
    focusWhenThere(selector !== undefined && document.querySelector(selector) ? selector : '.side-list [data-rove][tabindex="0"]'),
  );
}

function inCount(number: number): string {
  return number === 1 ? "1 thread" : `${number} threads`;
}

/** Maximum number of threads that the question names. */
const NAMED = 8;

function Confirm({ threads, onConfirm, onClose }: { threads: readonly Listed[]; onConfirm: () => void; onClose: () => void }) {
  const busy = threads.filter(({ live }) => live === "running" || live === "waiting").length;
  const count = inCount(threads.length);
  return (
    <Dialog title={`Delete ${count}?`} onClose={onClose}>
      <ul class="select-names">
        {threads.slice(0, NAMED).map((thread) => (
          <li key={thread.id} class="truncate">
            <bdi>{nameOf(thread)}</bdi>
          </li>
        ))}
        {threads.length > NAMED && <li>and {threads.length - NAMED} more</li>}
      </ul>
      <p>Their conversations are deleted for all users and devices. This cannot be undone.</p>
      {busy > 0 && <p class="hint">{busy === 1 ? "1 thread is" : `${busy} threads are`} at work. acpd deletes no thread whose turn runs: stop it first.</p>}
      <div class="dialog-foot">
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="button danger" disabled={client.value === undefined} onClick={onConfirm}>
          Delete {count}
        </button>
      </div>
    </Dialog>
  );
}
