/** Downloads of stored content. A plain link could not send the page key. */

import { fetchAsPage } from "./page-key.ts";
import { Refused } from "./session.ts";

/** Time for the browser to start the download, in milliseconds. */
const TAKEN_MS = 60_000;

/** Downloads the content that the daemon stores under an id. */
export async function downloadBlob(id: string, name: string): Promise<void> {
  const response = await fetchAsPage(`/api/blobs/${encodeURIComponent(id)}`);
  if (!response.ok) {
    throw new Refused(`The daemon answered ${response.status}.`);
  }
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), TAKEN_MS);
}
