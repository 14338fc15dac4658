/** Orders the pinned threads in the list: Alt with the arrow keys on a row, and dragging with the mouse. In: events of the list. */

import { isMovingPin, mayOrderPins, movePin, shownPins, stepPin } from "../../app/pin-order.ts";

/** Listens to a list. Returns a function that ends this. */
export function pinGestures(list: HTMLElement): () => void {
  const listeners = new AbortController();
  const { signal } = listeners;
  let dragged: string | undefined;

  list.addEventListener("keydown", (event) => {
    const id = pinAt(event);
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key] as 1 | -1 | undefined;
    if (by === undefined || id === undefined || !event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) {
      return;
    }
    // In some browsers it would leave the page.
    event.preventDefault();
    event.stopPropagation();
    // A held key waits for its move: otherwise the thread goes on moving after the key is up.
    if (!event.repeat || !isMovingPin()) {
      void stepPin(id, by);
    }
  }, { capture: true, signal });

  const mark = (row?: HTMLElement, side?: string) => {
    list.querySelectorAll<HTMLElement>("[data-drop]").forEach((marked) => delete marked.dataset.drop);
    if (row && side) {
      row.dataset.drop = side;
    }
  };
  list.addEventListener("dragstart", (event) => {
    dragged = event.defaultPrevented ? undefined : pinAt(event);
    if (dragged !== undefined && event.dataTransfer) {
      event.dataTransfer.effectAllowed = "copyMove";
    }
  }, { signal });
  list.addEventListener("dragover", (event) => {
    const row = (event.target as Element).closest<HTMLElement>("[data-thread]");
    if (dragged === undefined || row === null || !shownPins().includes(row.dataset.thread!)) {
      mark();
      return;
    }
    event.preventDefault();
    const { top, height } = row.getBoundingClientRect();
    mark(row, event.clientY < top + height / 2 ? "before" : "after");
  }, { signal });
  list.addEventListener("drop", (event) => {
    const row = list.querySelector<HTMLElement>("[data-drop]");
    if (dragged === undefined || !row) {
      return;
    }
    event.preventDefault();
    const shown = shownPins();
    const at = shown.indexOf(row.dataset.thread!);
    void movePin(dragged, shown[row.dataset.drop === "before" ? at : at + 1]);
    mark();
  }, { signal });
  // It may end beside the list.
  document.addEventListener("dragend", () => {
    dragged = undefined;
    mark();
  }, { signal });

  return () => listeners.abort();
}

/** Returns the pinned thread whose row an event is on, if the user may move it. */
function pinAt({ target }: Event): string | undefined {
  const link = target instanceof Element ? target.closest(".side-rows .row-link") : null;
  const id = link?.closest<HTMLElement>("[data-thread]")?.dataset.thread;
  return id !== undefined && mayOrderPins() && shownPins().includes(id) ? id : undefined;
}
