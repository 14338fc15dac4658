/** Keeps one element of a scroller at its place on the screen while the layout around it changes. */

/** Time in which a change of the layout counts as the result of a click, in milliseconds. */
const HELD_MS = 500;

export class Hold {
  #find: (() => Element | null) | undefined;
  #top = 0;
  #until = 0;
  /** Room below the end of the list, in pixels. */
  #room = 0;

  get active(): boolean {
    return this.#find !== undefined && performance.now() < this.#until;
  }

  /** Keeps the element at `top`, in pixels below the scroller's upper edge. */
  take(find: () => Element | null, top: number): void {
    this.#find = find;
    this.#top = top;
    this.#until = performance.now() + HELD_MS;
  }

  /** Keeps the element where it is; calls `over` once it is held no longer. Returns a function that cancels the call. */
  press(scroller: Element, element: Element, over: () => void): () => void {
    const find = () => element;
    this.take(find, topIn(scroller, element));
    const timer = setTimeout(() => {
      // The row of the element may leave the page later.
      if (this.#find === find) {
        this.release();
      }
      over();
    }, HELD_MS);
    return () => clearTimeout(timer);
  }

  release(): void {
    this.#find = undefined;
  }

  /** Scrolls the element back to its place. */
  apply(scroller: Element): void {
    const element = this.active ? this.#find?.() : undefined;
    if (!element?.isConnected) {
      return;
    }
    const moved = topIn(scroller, element) - this.#top;
    if (Math.abs(moved) >= 1) {
      scroller.scrollTop += moved;
      // The end of the list comes too early if content above it has shrunk.
      const missing = topIn(scroller, element) - this.#top;
      if (missing >= 1) {
        this.#room += missing;
        pad(scroller, this.#room);
        scroller.scrollTop += missing;
      }
    }
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

const PRESSED = "summary, button[aria-expanded], button[aria-pressed], button[data-grows]";
