/** The edge between the list and the view: dragging it, or the arrow keys on it, change the width of the list. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { draggedWidth, greatestWidth, LEAST, possibleWidth, sidebarWidth } from "../../app/sidebar-width.ts";

/** How far an arrow key moves the edge, in CSS pixels. */
const STEP = 16;

export function SidebarEdge() {
  const edge = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(LEAST);
  /** Where the pointer took the edge; absent once it has moved. A click alone sets nothing. */
  const taken = useRef<number | undefined>(undefined);
  const side = () => edge.current?.parentElement?.getBoundingClientRect() ?? { left: 0, width: LEAST };
  useLayoutEffect(() => {
    const around = edge.current?.parentElement;
    if (!around) {
      return;
    }
    const measure = () => setWidth(Math.round(around.getBoundingClientRect().width));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(around);
    return () => {
      observer.disconnect();
      draggedWidth.value = undefined;
    };
  }, []);
  const set = (wanted: number) => (sidebarWidth.value = possibleWidth(wanted, innerWidth));
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" && draggedWidth.peek() !== undefined) {
      event.stopPropagation();
      draggedWidth.value = undefined;
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const now = side().width;
    const wanted = { ArrowLeft: now - STEP, ArrowRight: now + STEP, Home: LEAST, End: greatestWidth(innerWidth) }[event.key];
    if (wanted !== undefined) {
      event.preventDefault();
      set(wanted);
    } else if (event.key === "Enter") {
      event.preventDefault();
      sidebarWidth.value = null;
    }
  };
  return (
    <div
      ref={edge}
      class={draggedWidth.value === undefined ? "side-edge" : "side-edge is-dragged"}
      role="separator"
      aria-label="Width of the list"
      aria-controls="sidebar"
      aria-orientation="vertical"
      aria-valuemin={LEAST}
      aria-valuemax={Math.max(width, greatestWidth(innerWidth))}
      aria-valuenow={width}
      title="Drag to change the width, double-click to reset it"
      tabIndex={0}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        if (event.button === 0) {
          // No selection of text, but the focus: Escape takes the change back.
          event.preventDefault();
          event.currentTarget.focus();
          event.currentTarget.setPointerCapture(event.pointerId);
          taken.current = event.clientX;
          draggedWidth.value = side().width;
        }
      }}
      onPointerMove={(event) => {
        if (draggedWidth.peek() !== undefined && event.clientX !== taken.current) {
          taken.current = undefined;
          draggedWidth.value = possibleWidth(event.clientX - side().left, innerWidth);
        }
      }}
      onPointerUp={() => {
        const dragged = draggedWidth.peek();
        if (dragged !== undefined && taken.current === undefined) {
          set(dragged);
        }
        draggedWidth.value = undefined;
      }}
      onPointerCancel={() => (draggedWidth.value = undefined)}
      onDblClick={() => (sidebarWidth.value = null)}
    />
  );
}
