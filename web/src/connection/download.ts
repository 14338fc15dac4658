/** Downloads of what the daemon keeps. A plain link could not show the key of this page. */

import { fetchAsPage } from "./page-key.ts";
import { Refused } from "./session.ts";

/** How long a browser has to take over what it was given, in milliseconds. */
const TAKEN_MS = 60_000;

/** Downloads content that the daemon keeps under an id. */
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
