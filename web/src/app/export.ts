/** Exports of a thread: downloads and the clipboard. `print.ts` has paper. */

import { download, readText } from "../connection/download.ts";
import { copyText } from "./clipboard.ts";
import { pathOf } from "./route.ts";
import { attempt } from "./threads.ts";
import { toast } from "./toasts.ts";

export type ExportFormat = "md" | "html" | "jsonl";

export const exportPath = (threadId: string, format: ExportFormat) => `/api/threads/${encodeURIComponent(threadId)}/export?format=${format}`;

/** Downloads a thread. */
export async function exportThread(threadId: string, name: string, format: ExportFormat): Promise<void> {
  await attempt("Couldn’t export", () => download(exportPath(threadId, format), `${fileName(name)}.${format}`));
}

/** Returns a name that every file system accepts. */
export function fileName(name: string): string {
  return name.replace(/[\u0000-\u001f\\/:*?"<>|]+/g, " ").replace(/\s+/g, " ").trim().slice(0, 80) || "thread";
}

export async function copyLink(threadId: string): Promise<void> {
  await copyAddress(location.origin + pathOf({ view: "thread", threadId }));
}

/** Copies the link with which this page was opened, to what it shows now. The address of the page has no secret. */
export async function copyShareLink(secret: string): Promise<void> {
  await copyAddress(`${location.origin}${location.pathname}${location.search}#share=${secret}`);
}

async function copyAddress(address: string): Promise<void> {
  const copied = await copyText(address);
  toast(copied ? "Copied the link" : "Couldn’t copy the link", copied ? {} : { kind: "error" });
}

export async function copyConversation(threadId: string): Promise<void> {
  await attempt("Couldn’t copy", async () => {
    if (!(await copyText(await readText(exportPath(threadId, "md"))))) {
      throw new Error("the browser does not allow it");
    }
    toast("Copied the conversation as Markdown");
  });
}
