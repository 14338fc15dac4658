/**
 * A long list that renders only its visible rows. It follows its end while the user is there. Otherwise it keeps its
 * position: growing or inserted rows do not move the visible ones. Heights are measured as rows become visible; until
 * then `estimate` applies.
 */

import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualizerOptions,
} from "@tanstack/virtual-core";
import { Component, type ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";

import { heldBy, Hold } from "./hold.ts";
import { usePress } from "./press.ts";

import "./virtual.css";

/** The place of a user in a list: the first visible row, and how much of it is above the window. */
export interface ScrollAnchor {
  readonly key: string;
  readonly offset: number;
}

export interface VirtualProps<T> {
  items: readonly T[];
  /** A key that is stable over the life of the list. */
  keyOf: (item: T) => string;
  /** Estimated height of an unmeasured item, in pixels. */
  estimate: (item: T) => number;
  /** Should be the same function for every render: a row is rendered again if its item or this function changes. */
  render: (item: T) => ComponentChildren;
  /** The label for screen readers. */
  label: string;
  /** The name of a row for screen readers. */
  nameOf?: (item: T) => string;
  /** Called when the user scrolls near the first item, if there are earlier ones. */
  onNearStart?: () => void;
  /** The key of an item to scroll to, once it exists. */
  target?: string;
  /** Whether a list without a target and a place starts at its first item, instead of its end. */
  fromStart?: boolean;
  /** Scrolls to the end when the number changes, for example after sending. */
  toEnd?: number;
  /** Stores the user's place while they are not at the end; a new list starts there. */
  place?: { current: ScrollAnchor | undefined };
  /** Receives whether the list follows its end. */
  following?: { current: boolean };
}

/** Distance from the end at which a user who scrolls down has reached it, in pixels. */
const AT_END = 48;
/** Distance from the start at which older items are requested, in pixels. */
const NEAR_START = 1200;

type Options = VirtualizerOptions<HTMLDivElement, HTMLDivElement>;

export function Virtual<T>(props: VirtualProps<T>) {
  const { items, keyOf, estimate, render, label, nameOf, onNearStart, target, toEnd, place, fromStart = false } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const [away, setAway] = useState(false);
  const [fresh, setFresh] = useState(false);
  const lastKey = items.length > 0 ? keyOf(items.at(-1)!) : undefined;

  // Where the list was when it was last looked at, or scrolled from here.
  const seen = useRef({ top: 0, height: 0 });
  const note = () => {
    const { scrollTop: top = 0, clientHeight: height = 0 } = scroller.current ?? {};
    seen.current = { top, height };
  };

  // Whether to follow the end. Only the user's own scrolling up stops that, however little it is: a single change may grow a
  // row by more than the distance that counts as being at the end.
  const own = useRef(true);
  const stuck = props.following ?? own;
  const [startsAtStart] = useState(() => {
    const atStart = fromStart && target === undefined && place?.current === undefined;
    stuck.current &&= !atStart;
    return atStart;
  });
  const press = usePress((isPressed) => {
    // Text that the user has selected stays in sight.
    if (!isPressed && hasSelection(scroller.current)) {
      stuck.current = false;
    }
    redraw(undefined);
  });
  const follows = () => stuck.current && !press.active.current;

  const [hold] = useState(() => new Hold());
  const options: Options = {
    count: items.length,
    getScrollElement: () => scroller.current,
    getItemKey: (index) => keyOf(items[index]!),
    estimateSize: (index) => estimate(items[index]!),
    observeElementRect,
    observeElementOffset,
    scrollToFn: (...write) => {
      elementScroll(...write);
      note();
    },
    overscan: 6,
    // While an element is held, the end must not be followed.
    anchorTo: hold.active ? "start" : "end",
    followOnAppend: follows(),
    // At this distance from the end, the library follows it too.
    scrollEndThreshold: follows() ? AT_END : -1,
    onChange: () => redraw(undefined),
  };
  const [virtual] = useState(() => new Virtualizer<HTMLDivElement, HTMLDivElement>(options));
  virtual.setOptions(options);
  useLayoutEffect(() => virtual._didMount(), [virtual]);
  useLayoutEffect(() => virtual._willUpdate());

  const distance = () => {
    const el = scroller.current;
    return el ? el.scrollHeight - el.clientHeight - el.scrollTop : 0;
  };
  useLayoutEffect(() => {
    const el = scroller.current;
    if (el) {
      hold.trim(el);
    }
    if (el && hold.active) {
      hold.apply(el);
    } else if (el && follows()) {
      // The focus, a screen reader or the browser's search may have scrolled up. Their only event is that of the scrolling,
      // which comes later. (A window that became higher has also scrolled up, but is at its end.)
      const { top, height } = seen.current;
      if (el.scrollTop < top - 1 && el.clientHeight === height && distance() > 1) {
        stuck.current = false;
        return;
      }
      if (distance() > 0) {
        el.scrollTop = el.scrollHeight;
      }
      note();
    }
  });

  // Leads to the first item, also where earlier ones have yet to be loaded. Whatever else the user does ends that.
  const rising = useRef(false);

  // A list starts at its end, unless it has a target or a place. The row of that place may have yet to be loaded.
  const began = useRef(false);
  const returning = useRef(target === undefined ? place?.current : undefined);
  useLayoutEffect(() => {
    if (!began.current && items.length > 0) {
      began.current = true;
      if (startsAtStart) {
        rising.current = true;
      } else {
        stuck.current = true;
        virtual.scrollToEnd();
      }
    }
    const { key, offset } = returning.current ?? {};
    const index = key === undefined ? -1 : items.findIndex((item) => keyOf(item) === key);
    if (index >= 0) {
      returning.current = undefined;
      stuck.current = false;
      virtual.scrollToOffset((virtual.getOffsetForIndex(index, "start")?.[0] ?? 0) + offset!);
      hold.take(() => scroller.current!.querySelector(`[data-key="${CSS.escape(key!)}"]`), -offset!);
    }
  }, [items]);

  useEffect(() => {
    const index = target === undefined ? -1 : items.findIndex((item) => keyOf(item) === target);
    if (index >= 0) {
      stuck.current = false;
      virtual.scrollToIndex(index, { align: "center" });
    }
    // Only once: after the user scrolls away, a growing list does not scroll back.
  }, [target, target !== undefined && items.some((item) => keyOf(item) === target)]);

  useEffect(() => {
    if (toEnd) {
      toTheEnd();
    }
  }, [toEnd]);

  // If the list does not follow its end, the button announces new items.
  const seenLast = useRef(lastKey);
  useEffect(() => {
    if (follows()) {
      seenLast.current = lastKey;
      setFresh(false);
    } else if (lastKey !== seenLast.current) {
      setFresh(true);
    }
  });

  useLayoutEffect(() => {
    if (rising.current) {
      virtual.scrollToOffset(0);
      rising.current = onNearStart !== undefined;
    }
  });
  const stay = () => {
    rising.current = false;
    returning.current = undefined;
    hold.release();
  };

  const onPointerDown = (event: PointerEvent) => {
    stay();
    press.onPointerDown(event);
  };

  // Before the scrolling, so that a change between the two does not lead back to the end.
  const onWheel = (event: WheelEvent) => {
    stay();
    if (event.deltaY < 0 && (scroller.current?.scrollTop ?? 0) > 0) {
      stuck.current = false;
    }
  };

  // A click that opens or closes something leaves it where it is, also at the end of the list.
  const settle = useRef(() => {});
  useEffect(() => () => settle.current(), []);
  const onClick = (event: MouseEvent) => {
    const held = heldBy(event.target);
    if (held === null || scroller.current === null) {
      return;
    }
    settle.current();
    stuck.current = false;
    settle.current = hold.press(scroller.current, held, () => {
      stuck.current ||= distance() <= AT_END;
      redraw(undefined);
    });
    virtual.setOptions({ ...options, anchorTo: "start" });
  };

  const toTheEnd = () => {
    stay();
    if (scroller.current) {
      hold.trim(scroller.current, true);
    }
    stuck.current = true;
    virtual.scrollToEnd();
  };
  const onScroll = () => {
    const before = seen.current.top;
    const top = scroller.current?.scrollTop ?? 0;
    if (scroller.current && top < before) {
      hold.trim(scroller.current);
    }
    // At the end itself a list that has become shorter, or its window higher, has scrolled up.
    if (!hold.active && distance() <= (top > before ? AT_END : 1)) {
      stuck.current = true;
    } else if (top < before - 1) {
      stuck.current = false;
    }
    note();
    if (place && returning.current === undefined) {
      const first = stuck.current ? undefined : virtual.getVirtualItemForOffset(top);
      place.current = first && { key: String(first.key), offset: top - first.start };
    }
    look();
  };
  const look = () => {
    setAway(!stuck.current && distance() > AT_END);
    if (onNearStart && (virtual.scrollOffset ?? 0) < NEAR_START && began.current) {
      onNearStart();
    }
  };
  // A page shorter than the window never scrolls, but there may be earlier items.
  useEffect(look);

  const jump = () => {
    toTheEnd();
    scroller.current?.focus({ preventScroll: true });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    stay();
    if (event.target !== scroller.current || event.altKey || event.ctrlKey || event.metaKey) {
      return;
    }
    if (event.key === "End") {
      event.preventDefault();
      toTheEnd();
    } else if (event.key === "Home") {
      event.preventDefault();
      stuck.current = false;
      rising.current = onNearStart !== undefined;
      virtual.scrollToOffset(0);
    }
  };

  const shown = virtual.getVirtualItems();
  // Where the user is: the end, or else the first visible row.
  const current = stuck.current ? items.length - 1 : virtual.getVirtualItemForOffset(virtual.scrollOffset ?? 0)?.index;
  return (
    <div class="virtual">
      <div
        class="virtual-scroller"
        ref={scroller}
        role="feed"
        aria-label={label}
        tabIndex={0}
        onScroll={onScroll}
        onKeyDown={onKeyDown}
        onClickCapture={onClick}
        onWheel={onWheel}
        onPointerDown={onPointerDown}
      >
        <div class="virtual-space" style={{ height: `${virtual.getTotalSize()}px` }}>
          <div class="virtual-window" style={{ top: `${shown[0]?.start ?? 0}px` }}>
            {shown.map(({ index, key }) => {
              const item = items[index];
              return item === undefined ? null : (
                <div
                  key={key}
                  ref={virtual.measureElement}
                  data-index={index}
                  data-key={key}
                  class={`virtual-line${key === target ? " is-target" : ""}${index === current ? " is-current" : ""}`}
                  role="article"
                  aria-label={nameOf?.(item)}
                  aria-posinset={index + 1}
                  aria-setsize={onNearStart ? -1 : items.length}
                >
                  <Kept item={item} render={render as (item: unknown) => ComponentChildren} />
                </div>
              );
            })}
          </div>
        </div>
      </div>
      <button type="button" class="button virtual-jump" hidden={!away} onClick={jump}>
        <svg width="12" height="12" viewBox="0 0 12 12" aria-hidden="true">
          <path d="M6 2v8M2.5 6.5 6 10l3.5-3.5" fill="none" stroke="currentColor" stroke-width="1.5" />
        </svg>
        {fresh ? "New below" : "Jump to latest"}
      </button>
    </div>
  );
}

function hasSelection(element: Element | null): boolean {
  const selection = document.getSelection();
  return selection !== null && !selection.isCollapsed && element !== null && element.contains(selection.anchorNode);
}

/** Renders a row again only if its item or function changes. */
class Kept extends Component<{ item: unknown; render: (item: unknown) => ComponentChildren }> {
  override shouldComponentUpdate(next: Readonly<{ item: unknown; render: unknown }>): boolean {
    return next.item !== this.props.item || next.render !== this.props.render;
  }

  override render() {
    return this.props.render(this.props.item);
  }
}
