/**
 * What selects rows of the list: a click with Ctrl or Cmd, or with Shift for a range; `x`, Shift with the arrow keys, Ctrl+A and
 * Escape on a row; and a long press by touch. In: events of the list. Never: what the selection is used for.
 */

export interface Selector {
  selected(): ReadonlySet<string>;
  /** Whether a tap selects while something is selected, instead of opening the thread. */
  byTaps(): boolean;
  toggle(id: string): void;
  /** Selects from one thread to another, in addition to `base` or to what is selected. */
  range(from: string, to: string, base?: ReadonlySet<string>): void;
  all(): void;
  clear(): void;
}

/** Time after which a press is long, in milliseconds. */
const LONG_MS = 500;
/** Distance at which it is a scroll or a swipe instead, in pixels. */
const SLOP = 10;
/** Time after the release in which browsers deliver its click, in milliseconds. */
const CLICK_MS = 300;

/** Listens to a list. Returns a function that ends this. */
export function gestures(list: HTMLElement, selector: Selector): () => void {
  const listeners = new AbortController();
  // Before the handlers of rows, which open threads, and of the list, which move the focus.
  const first = { capture: true, signal: listeners.signal };
  /** Where a range begins: the row that was last clicked or selected alone. */
  let anchor: string | undefined;
  /** A range by keys, and what was selected before it: the way back makes it smaller. */
  let stretch: { readonly from: string; readonly base: ReadonlySet<string> } | undefined;
  let isByTouch = false;
  let press: { readonly id: number; readonly x: number; readonly y: number; readonly thread: string; isLong: boolean } | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let clickUntil = -Infinity;

  const take = (event: Event) => {
    event.preventDefault();
    event.stopPropagation();
  };
  const toggle = (id: string) => {
    selector.toggle(id);
    anchor = id;
    stretch = undefined;
  };

  list.addEventListener("mousedown", (event) => {
    // Shift would select text.
    if (event.shiftKey && threadAt(event) !== undefined) {
      event.preventDefault();
    }
  }, first);
  list.addEventListener("click", (event) => {
    const id = threadAt(event);
    if (id === undefined) {
      return;
    }
    if (performance.now() < clickUntil) {
      // The end of a long press.
      clickUntil = -Infinity;
      take(event);
      return;
    }
    const isMore = event.ctrlKey || event.metaKey || (selector.byTaps() && selector.selected().size > 0);
    if (event.shiftKey) {
      take(event);
      stretch = undefined;
      selector.range(anchor ?? current(list) ?? id, id);
      (event.target as Element).closest<HTMLElement>(ROW_LINK)?.focus();
    } else if (isMore) {
      take(event);
      toggle(id);
    } else {
      anchor = id;
      stretch = undefined;
    }
  }, first);

  list.addEventListener("keydown", (event) => {
    const id = (event.target as Element).matches(ROW_LINK) ? threadAt(event) : undefined;
    if (id === undefined || event.altKey) {
      return;
    }
    const isMod = event.ctrlKey || event.metaKey;
    if (event.shiftKey && !isMod && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      // The list moves the focus, which selects.
      stretch ??= { from: id, base: selector.selected() };
      selector.range(stretch.from, id, stretch.base);
      return;
    }
    if (event.key === "Shift") {
      return;
    }
    stretch = undefined;
    if (event.key.toLowerCase() === "x" && !isMod && !event.shiftKey) {
      take(event);
      if (!event.repeat) {
        toggle(id);
      }
    } else if (event.key.toLowerCase() === "a" && isMod && !event.shiftKey) {
      take(event);
      selector.all();
    } else if (event.key === "Escape" && selector.selected().size > 0) {
      take(event);
      selector.clear();
    }
  }, first);
  list.addEventListener("focusin", (event) => {
    const id = threadAt(event);
    if (stretch !== undefined && id !== undefined) {
      selector.range(stretch.from, id, stretch.base);
    }
  }, first);

  const release = () => {
    clearTimeout(timer);
    press = undefined;
  };
  const becomeLong = () => {
    clearTimeout(timer);
    if (press !== undefined && !press.isLong) {
      press.isLong = true;
      toggle(press.thread);
      navigator.vibrate?.(10);
    }
  };
  list.addEventListener("pointerdown", (event) => {
    isByTouch = event.pointerType === "touch";
    stretch = undefined;
    clickUntil = -Infinity;
    release();
    const thread = threadAt(event);
    if (isByTouch && event.isPrimary && thread !== undefined) {
      press = { id: event.pointerId, x: event.clientX, y: event.clientY, thread, isLong: false };
      timer = setTimeout(becomeLong, LONG_MS);
    }
  }, first);
  list.addEventListener("pointermove", (event) => {
    if (press?.id !== event.pointerId) {
      return;
    }
    if (press.isLong) {
      // Not the beginning of a swipe, which answers.
      event.stopPropagation();
    } else if (Math.hypot(event.clientX - press.x, event.clientY - press.y) > SLOP) {
      release();
    }
  }, first);
  list.addEventListener("pointerup", (event) => {
    if (press?.id === event.pointerId && press.isLong) {
      event.stopPropagation();
      clickUntil = performance.now() + CLICK_MS;
    }
    release();
  }, first);
  list.addEventListener("pointercancel", release, first);
  list.addEventListener("contextmenu", (event) => {
    // Some browsers end a long touch with it. Its menu would cover the list.
    if (isByTouch && threadAt(event) !== undefined) {
      event.preventDefault();
      becomeLong();
    }
  }, first);
  list.addEventListener("dragstart", (event) => {
    if (isByTouch) {
      event.preventDefault();
    }
  }, first);

  return () => {
    listeners.abort();
    clearTimeout(timer);
  };
}

const ROW_LINK = ".side-rows .row-link";

/** Returns the thread whose row an event is on; not on its menu or its answers. */
function threadAt({ target }: Event): string | undefined {
  return (target as Element).closest(ROW_LINK)?.closest<HTMLElement>("[data-thread]")?.dataset.thread;
}

/** Returns the thread whose row is that of the open thread. */
function current(list: HTMLElement): string | undefined {
  return list.querySelector<HTMLElement>(".row.is-current")?.dataset.thread;
}
