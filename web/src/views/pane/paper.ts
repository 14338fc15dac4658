/** A whole thread on paper, of which the page itself renders only a part. */

import { h, render } from "preact";

import { exportPath } from "../../app/export.ts";
import { route } from "../../app/route.ts";
import { readTextNow } from "../../connection/download.ts";
import { Markdown } from "../thread/content/Markdown.tsx";

/** Restores the page after printing; absent while nothing is laid out for paper. */
let restore: (() => void) | undefined;

/** Lays out the open thread for paper when the browser prints it: its menu leaves no time for other requests. */
export function listenForPrinting(): void {
  addEventListener("beforeprint", () => {
    const { value: at } = route;
    const text = restore === undefined && at.view === "thread" ? readTextNow(exportPath(at.threadId, "md")) : undefined;
    if (text !== undefined) {
      layOut(text);
    }
  });
  addEventListener("afterprint", () => restore?.());
}

/** Shows the text of a thread in place of the page, until it is printed. */
export function layOut(text: string): void {
  restore?.();
  const place = document.createElement("div");
  place.className = "print-only";
  document.body.append(place);
  document.body.classList.add("is-printing");
  const { dataset } = document.documentElement;
  const { theme } = dataset;
  dataset.theme = "light";
  render(h(Markdown, { text }), place);
  restore = () => {
    restore = undefined;
    if (theme === undefined) {
      delete dataset.theme;
    } else {
      dataset.theme = theme;
    }
    render(null, place);
    place.remove();
    document.body.classList.remove("is-printing");
  };
}
