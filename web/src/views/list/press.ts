/** Whether a button is pressed in a part of the page: what moves below the pointer meanwhile would take the click. */

import { useEffect, useRef, useState } from "preact/hooks";

/** Time after the release in which the browser delivers the click of a touch, in milliseconds. */
const CLICK_MS = 100;

export interface Press {
  readonly active: { readonly current: boolean };
  readonly onPointerDown: (event: PointerEvent) => void;
}

/** Calls `changed` when a press begins, and with `false` once it is over, with its click. */
export function usePress(changed: (isPressed: boolean) => void): Press {
  const active = useRef(false);
  const [listening] = useState(() => new Listening());
  useEffect(() => () => listening.end(), [listening]);
  const set = (isPressed: boolean) => {
    active.current = isPressed;
    changed(isPressed);
  };
  const onPointerDown = (event: PointerEvent) => {
    if (event.button === 0) {
      set(true);
      listening.begin(() => set(false));
    }
  };
  return { active, onPointerDown };
}

/** Waits for the end of a press, wherever the pointer is by then. */
class Listening {
  #ended = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;

  begin(over: () => void): void {
    this.end();
    this.#ended = new AbortController();
    const release = () => {
      this.end();
      this.#timer = setTimeout(over, CLICK_MS);
    };
    // A menu or another window may take the release.
    for (const type of ["pointerup", "pointercancel", "contextmenu", "blur"]) {
      window.addEventListener(type, release, { signal: this.#ended.signal });
    }
  }

  end(): void {
    this.#ended.abort();
    clearTimeout(this.#timer);
  }
}
