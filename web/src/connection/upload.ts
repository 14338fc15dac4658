/** Sends files that a message has no room for. Loaded with the first one. */

import { type AcpObject, isObject } from "../state/acp.ts";
import { opened } from "./page-key.ts";

/** Largest file that the daemon stores, in bytes. */
export const LARGEST = 50 * 1024 * 1024;

/**
 * Has the daemon store a file for a thread's agent; resolves with the block that links to it. Rejects with the sentence to show.
 * `onSent` is called with the bytes that have been sent. Only `XMLHttpRequest` reports them.
 */
export function upload(threadId: string, file: File, onSent: (bytes: number) => void, signal: AbortSignal): Promise<AcpObject> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(new Error("Cancelled."));
      return;
    }
    const name = encodeURIComponent((file.name || "file").replace(/[\uD800-\uDFFF]/gu, "_"));
    const request = opened("PUT", `/api/threads/${encodeURIComponent(threadId)}/attachments/${name}`);
    request.setRequestHeader("content-type", file.type || "application/octet-stream");
    request.upload.onprogress = ({ loaded }) => onSent(loaded);
    request.onerror = () => reject(new Error("The connection broke off. Attach the file again."));
    request.onabort = () => reject(new Error("Cancelled."));
    request.onload = () => {
      const { block, error } = parsed(request.responseText);
      if (request.status === 200 && block !== undefined) resolve(block);
      else if (request.status === 413 && error === undefined) {
        // A proxy answers like this.
        reject(new Error("What is between this browser and the daemon accepts no file of this size."));
      } else reject(new Error(error ?? `The daemon responded with status ${request.status}.`));
    };
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

function parsed(response: string): { block?: AcpObject | undefined; error?: string | undefined } {
  let value: unknown;
  try {
    value = JSON.parse(response);
  } catch {
    // A proxy has responded.
    return {};
  }
  if (!isObject(value)) return {};
  const { block, error } = value;
  const message = isObject(error) && typeof error.message === "string" ? error.message : undefined;
  return { block: isObject(block) ? block : undefined, error: message };
}
