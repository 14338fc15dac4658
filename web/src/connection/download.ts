/** Stored content of the daemon, and downloads. A plain link could not send the page key. */

import { fetchAsPage } from "./page-key.ts";
import { Refused } from "./session.ts";

/** Time for the browser to start the download, in milliseconds. */
const TAKEN_MS = 60_000;

/** Returns the text that the daemon stores under an id. */
export async function readBlob(id: string): Promise<string> {
  const response = await fetchAsPage(`/api/blobs/${encodeURIComponent(id)}`);
  if (!response.ok) {
    throw new Refused(`The daemon answered ${response.status}.`);
  }
  return response.text();
}

/** Saves content as a file. */
export function saveFile(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), TAKEN_MS);
}
