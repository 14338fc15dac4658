/** Keeps one element of a scroller at its place on the screen while the layout around it changes. */

/** Time in which a change of the layout counts as the result of a click, in milliseconds. */
const HELD_MS = 500;

/** The same for a click that opens something which is loaded, in milliseconds. */
const REVEALED_MS = 3_000;
/** The part of the window that remains above a control, if what it opens needs the rest. */
const ABOVE = 0.25;

export class Hold {
  #find: (() => Element | null) | undefined;
  #top = 0;
  #until = 0;
  /** What the control opens, if it must come into sight. */
  #opened: Element | undefined;
  /** Room below the end of the list, in pixels. */
  #room = 0;

  get active(): boolean {
    return this.#find !== undefined && performance.now() < this.#until;
  }

  /** Keeps the element at `top`, in pixels below the scroller's upper edge. */
  take(find: () => Element | null, top: number, opened?: Element): void {
    this.#find = find;
    this.#top = top;
    this.#opened = opened;
    this.#until = performance.now() + (opened === undefined ? HELD_MS : REVEALED_MS);
  }

  /**
   * Keeps the element where it is, or moves it up as far as what it opens needs to be in sight. Calls `over` once it is held no longer;
   * returns a function that cancels the call.
   */
  press(scroller: Element, element: Element, over: () => void): () => void {
    const find = () => element;
    const opened = openedBy(element);
    this.take(find, topIn(scroller, element), opened);
    const timer = setTimeout(() => {
      // The row of the element may leave the page later.
      if (this.#find === find) {
        this.release();
      }
      over();
    }, opened === undefined ? HELD_MS : REVEALED_MS);
    return () => clearTimeout(timer);
  }

  release(): void {
    this.#find = undefined;
    this.#opened = undefined;
  }

  /** Scrolls the element back to its place. */
  apply(scroller: Element): void {
    const element = this.active ? this.#find?.() : undefined;
    if (!element?.isConnected) {
      return;
    }
    const top = this.#topIn(scroller);
    const moved = topIn(scroller, element) - top;
    if (Math.abs(moved) >= 1) {
      scroller.scrollTop += moved;
      // The end of the list comes too early if content above it has shrunk.
      const missing = topIn(scroller, element) - top;
      if (missing >= 1) {
        this.#room += missing;
        pad(scroller, this.#room);
        scroller.scrollTop += missing;
      }
    }
  }

  #topIn({ clientHeight }: Element): number {
    if (this.#opened === undefined) {
      return this.#top;
    }
    const { height } = this.#opened.getBoundingClientRect();
    return Math.min(this.#top, Math.max(clientHeight * ABOVE, clientHeight - height));
  }

  /** Removes the room below the end of the list that is out of sight, or all of it. */
  trim(scroller: Element, all = false): void {
    if (this.#room > 0) {
      const inSight = scroller.scrollTop + scroller.clientHeight - (scroller.scrollHeight - this.#room);
      this.#room = all ? 0 : Math.max(0, Math.min(this.#room, inSight));
      pad(scroller, this.#room);
    }
  }
}

function pad(scroller: Element, room: number): void {
  (scroller.firstElementChild as HTMLElement).style.marginBottom = `${room}px`;
}

function topIn(scroller: Element, element: Element): number {
  return element.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
}

/**
 * Returns the element to hold when the user clicks a control that opens, closes or rearranges content, if it is one. A
 * button with `data-grows` moves away from its own content, so its row is held.
 */
export function heldBy(target: EventTarget | null): Element | null {
  const pressed = target instanceof Element ? target.closest(PRESSED) : null;
  return pressed?.matches("[data-grows]") ? pressed.closest(".virtual-line") : pressed;
}

/** Returns what a click on the control is about to open, if that must come into sight. */
function openedBy(control: Element): Element | undefined {
  const details = control.matches("summary[data-reveals]") ? control.closest("details") : null;
  return details?.open === false ? details : undefined;
}

const PRESSED = "summary, button[aria-expanded], button[aria-pressed], button[data-grows]";
