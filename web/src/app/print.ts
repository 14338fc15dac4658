/** Prints whole threads, by the page's commands. */

import { readText } from "../connection/download.ts";
import { exportPath } from "./export.ts";
import { attempt } from "./threads.ts";

export async function printThread(threadId: string): Promise<void> {
  await attempt("Couldn’t print", async () => {
    const [text, { layOut }] = await Promise.all([readText(exportPath(threadId, "md")), import("../views/pane/ThreadPane.tsx")]);
    layOut(text);
    print();
  });
}
