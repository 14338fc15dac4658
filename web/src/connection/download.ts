/** Resources of the daemon as texts and as files. A plain link could not send the page key. */

import { fetchAsPage, requestNow } from "./page-key.ts";
import { Refused } from "./session.ts";

/** Time for the browser to start the download, in milliseconds. */
const TAKEN_MS = 60_000;

/** Reads the text that the daemon stores under an id. */
export function readBlob(id: string): Promise<string> {
  return readText(`/api/blobs/${encodeURIComponent(id)}`);
}

/** Reads a resource as text. */
export async function readText(path: string): Promise<string> {
  return (await get(path)).text();
}

/** Reads a resource as text before anything else happens; `undefined` if that fails. */
export function readTextNow(path: string): string | undefined {
  try {
    const request = requestNow(path);
    return request.status === 200 ? request.responseText : undefined;
  } catch {
    return undefined;
  }
}

/** Downloads a resource as a file. */
export async function download(path: string, name: string): Promise<void> {
  saveFile(await (await get(path)).blob(), name);
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

async function get(path: string): Promise<Response> {
  const response = await fetchAsPage(path);
  if (!response.ok) {
    const body = (await response.json().catch(() => ({}))) as { error?: { message?: string } };
    throw new Refused(body.error?.message ?? `The daemon responded with status ${response.status}.`);
  }
  return response;
}
