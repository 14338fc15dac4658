/** Prints whole threads, of which the page itself renders only a part: by the page's commands and by the browser's. */

import { h, render } from "preact";

import { readText, readTextNow } from "../connection/download.ts";
import { Markdown } from "../views/thread/content/Markdown.tsx";
import { exportPath } from "./export.ts";
import { route } from "./route.ts";
import { attempt } from "./threads.ts";

/** Restores the page after printing; absent while nothing is laid out for paper. */
let restore: (() => void) | undefined;

export async function printThread(threadId: string): Promise<void> {
  await attempt("Couldn’t print", async () => {
    layOut(await readText(exportPath(threadId, "md")));
    print();
  });
}

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

function layOut(text: string): void {
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
