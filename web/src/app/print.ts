/** Prints whole threads, by the page's commands. */

import { readText } from "../connection/download.ts";
import { exportPath } from "./export.ts";
import { attempt } from "./threads.ts";

export async function printThread(threadId: string): Promise<void> {
  await attempt("Couldn’t print", async () => {
    const [html, { layOut }] = await Promise.all([readText(exportPath(threadId, "html")), import("../views/pane/ThreadPane.tsx")]);
    await layOut(html);
    print();
  });
}
