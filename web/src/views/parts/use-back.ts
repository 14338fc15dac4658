/** Lets Back close what a component shows over the view. */

import { useLayoutEffect, useRef } from "preact/hooks";

import { addLayer } from "../../app/back.ts";

/** While `open`, Back calls `close` instead of leaving the view. */
export function useBack(open: boolean, close: () => void): void {
  const latest = useRef(close);
  latest.current = close;
  useLayoutEffect(() => (open ? addLayer(() => latest.current()) : undefined), [open]);
}
