/** Exports of a thread: downloads, the clipboard, and paper. */

import { h, render } from "preact";

import { download, readText } from "../connection/download.ts";
import { Markdown } from "../views/thread/content/Markdown.tsx";
import { copyText } from "../views/thread/content/CopyButton.tsx";
import { pathOf } from "./route.ts";
import { attempt } from "./threads.ts";
import { toast } from "./toasts.ts";

export type ExportFormat = "md" | "html" | "jsonl";

const path = (threadId: string, format: ExportFormat) => `/api/threads/${encodeURIComponent(threadId)}/export?format=${format}`;

/** Downloads a thread. */
export async function exportThread(threadId: string, name: string, format: ExportFormat): Promise<void> {
  await attempt("Could not export", () => download(path(threadId, format), `${fileName(name)}.${format}`));
}

/** Returns a name that every file system accepts. */
export function fileName(name: string): string {
  return name.replace(/[\u0000-\u001f\\/:*?"<>|]+/g, " ").replace(/\s+/g, " ").trim().slice(0, 80) || "thread";
}

export async function copyLink(threadId: string): Promise<void> {
  const copied = await copyText(location.origin + pathOf({ view: "thread", threadId }));
  toast(copied ? "Copied the link" : "Could not copy the link", copied ? {} : { kind: "error" });
}

export async function copyConversation(threadId: string): Promise<void> {
  await attempt("Could not copy", async () => {
    if (!(await copyText(await readText(path(threadId, "md"))))) {
      throw new Error("the browser does not allow it");
    }
    toast("Copied the conversation as Markdown");
  });
}

/** Prints a whole thread, of which the page itself renders only a part. */
export async function printThread(threadId: string): Promise<void> {
  await attempt("Could not print", async () => {
    const text = await readText(path(threadId, "md"));
    const place = document.createElement("div");
    place.className = "print-only";
    document.body.append(place);
    document.body.classList.add("is-printing");
    const { dataset } = document.documentElement;
    const { theme } = dataset;
    dataset.theme = "light";
    render(h(Markdown, { text }), place);
    const clean = () => {
      if (theme === undefined) {
        delete dataset.theme;
      } else {
        dataset.theme = theme;
      }
      render(null, place);
      place.remove();
      document.body.classList.remove("is-printing");
    };
    addEventListener("afterprint", clean, { once: true });
    print();
  });
}
