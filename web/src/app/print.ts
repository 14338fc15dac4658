/** Prints whole threads, by the page's commands. */

import { readText } from "../connection/download.ts";
import { exportPath } from "./export.ts";
import { attempt } from "./threads.ts";

/** The view that lays out a document for paper. It is loaded when it is first needed. */
interface Paper {
  layOut(html: string): Promise<void>;
}

let loadPaper: () => Promise<Paper> = () => Promise.reject(new Error("nothing lays out threads for paper"));

/** Sets how the view is loaded. */
export function setPaper(load: () => Promise<Paper>): void {
  loadPaper = load;
}

export async function printThread(threadId: string): Promise<void> {
  await attempt("Couldn’t print", async () => {
    const [html, paper] = await Promise.all([readText(exportPath(threadId, "html")), loadPaper()]);
    await paper.layOut(html);
    print();
  });
}
