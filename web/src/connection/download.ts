/** Downloads of the daemon's resources. A plain link could not send the page key. */

import { fetchAsPage } from "./page-key.ts";
import { Refused } from "./session.ts";

/** Time for the browser to start the download, in milliseconds. */
const TAKEN_MS = 60_000;

/** Downloads the content that the daemon stores under an id. */
export function downloadBlob(id: string, name: string): Promise<void> {
  return download(`/api/blobs/${encodeURIComponent(id)}`, name);
}

/** Downloads a resource as a file. */
export async function download(path: string, name: string): Promise<void> {
  const response = await get(path);
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), TAKEN_MS);
}

/** Reads a resource as text. */
export async function readText(path: string): Promise<string> {
  return (await get(path)).text();
}

async function get(path: string): Promise<Response> {
  const response = await fetchAsPage(path);
  if (!response.ok) {
    const body = (await response.json().catch(() => ({}))) as { error?: { message?: string } };
    throw new Refused(body.error?.message ?? `The daemon responded with status ${response.status}.`);
  }
  return response;
}
