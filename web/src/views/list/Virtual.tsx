/**
 * A long list of which only what is seen is in the page. It stays at its end while the person is there, and stays where
 * the person reads otherwise: whatever grows or is put above does not move what is looked at. Heights are found out as
 * lines are seen; `estimate` stands for them before.
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

import "./virtual.css";

export interface VirtualProps<T> {
  items: readonly T[];
  /** Stable over the life of the list. */
  keyOf: (item: T) => string;
  /** Guess of an item's height in pixels before it was seen. */
  estimate: (item: T) => number;
  /** Should be the same function from one drawing to the next: a line is drawn again if its item or this changes. */
  render: (item: T) => ComponentChildren;
  /** For screen readers. */
  label: string;
  /** There is more before the first item; called when the person comes near it. */
  onNearStart?: () => void;
  /** The key of an item to show, once it is there. */
  target?: string;
  /** For who asks for the end from elsewhere, such as after sending. A change of the number goes there. */
  toEnd?: number;
}

/** So near to the end counts as being there, in pixels. */
const AT_END = 48;
/** So near to the start, older items are asked for. */
const NEAR_START = 1200;

type Options = VirtualizerOptions<HTMLDivElement, HTMLDivElement>;

export function Virtual<T>(props: VirtualProps<T>) {
  const { items, keyOf, estimate, render, label, onNearStart, target, toEnd } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const [away, setAway] = useState(false);
  const [fresh, setFresh] = useState(false);
  const lastKey = items.length > 0 ? keyOf(items.at(-1)!) : undefined;

  const options: Options = {
    count: items.length,
    getScrollElement: () => scroller.current,
    getItemKey: (index) => keyOf(items[index]!),
    estimateSize: (index) => estimate(items[index]!),
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    overscan: 6,
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: AT_END,
    onChange: () => redraw(undefined),
  };
  const [virtual] = useState(() => new Virtualizer<HTMLDivElement, HTMLDivElement>(options));
  virtual.setOptions(options);
  useLayoutEffect(() => virtual._didMount(), [virtual]);
  useLayoutEffect(() => virtual._willUpdate());

  // Whether the end is to be followed. Only the person's own way up ends that: a line may grow by more in one go than what
  // counts as being at the end.
  const stuck = useRef(true);
  const lastTop = useRef(0);
  const distance = () => {
    const el = scroller.current;
    return el ? el.scrollHeight - el.clientHeight - el.scrollTop : 0;
  };
  useLayoutEffect(() => {
    const el = scroller.current;
    if (el && stuck.current && distance() > 0) {
      el.scrollTop = el.scrollHeight;
    }
  });

  // A list begins at its end, unless somebody wants to see something in it.
  const began = useRef(false);
  useLayoutEffect(() => {
    if (!began.current && items.length > 0) {
      began.current = true;
      virtual.scrollToEnd();
    }
  }, [items.length]);

  useEffect(() => {
    const index = target === undefined ? -1 : items.findIndex((item) => keyOf(item) === target);
    if (index >= 0) {
      stuck.current = false;
      virtual.scrollToIndex(index, { align: "center" });
    }
    // Once: who scrolls away from it afterwards is not brought back when the list grows.
  }, [target, target !== undefined && items.some((item) => keyOf(item) === target)]);

  useEffect(() => {
    if (toEnd) {
      toTheEnd();
    }
  }, [toEnd]);

  // What comes while the person is elsewhere is announced by the button.
  const seenLast = useRef(lastKey);
  useEffect(() => {
    if (!away) {
      seenLast.current = lastKey;
      setFresh(false);
    } else if (lastKey !== seenLast.current) {
      setFresh(true);
    }
  }, [away, lastKey]);

  const toTheEnd = () => {
    stuck.current = true;
    virtual.scrollToEnd();
  };
  const onScroll = () => {
    const top = scroller.current?.scrollTop ?? 0;
    if (distance() <= AT_END) {
      stuck.current = true;
    } else if (top < lastTop.current - 1) {
      stuck.current = false;
    }
    lastTop.current = top;
    look();
  };
  const look = () => {
    setAway(!stuck.current && distance() > AT_END);
    if (onNearStart && (virtual.scrollOffset ?? 0) < NEAR_START && began.current) {
      onNearStart();
    }
  };
  // A page that is shorter than the window never scrolls, and yet there may be more before it.
  useEffect(look);

  const jump = () => {
    toTheEnd();
    scroller.current?.focus({ preventScroll: true });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== scroller.current || event.altKey || event.ctrlKey || event.metaKey) {
      return;
    }
    if (event.key === "End") {
      event.preventDefault();
      toTheEnd();
    } else if (event.key === "Home") {
      event.preventDefault();
      stuck.current = false;
      virtual.scrollToOffset(0);
    }
  };

  const shown = virtual.getVirtualItems();
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
      >
        <div class="virtual-space" style={{ height: `${virtual.getTotalSize()}px` }}>
          <div class="virtual-window" style={{ transform: `translateY(${shown[0]?.start ?? 0}px)` }}>
            {shown.map(({ index, key }) => {
              const item = items[index];
              return item === undefined ? null : (
                <div
                  key={key}
                  ref={virtual.measureElement}
                  data-index={index}
                  data-key={key}
                  class={key === target ? "virtual-line is-target" : "virtual-line"}
                  role="article"
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

/** Draws a line again only if it is another one. */
class Kept extends Component<{ item: unknown; render: (item: unknown) => ComponentChildren }> {
  override shouldComponentUpdate(next: Readonly<{ item: unknown; render: unknown }>): boolean {
    return next.item !== this.props.item || next.render !== this.props.render;
  }

  override render() {
    return this.props.render(this.props.item);
  }
}
