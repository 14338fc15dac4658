// The attachments of a prompt: files, and the blocks of an earlier prompt.

import { type AcpObject, isObject, text } from "../../../state/acp.ts";

export interface Attachment {
  name: string;
  block: AcpObject;
  /** Size of the sent block, in bytes. */
  size: number;
  /** Size of the file, in bytes, if it is known. */
  fileSize?: number | undefined;
  /** How it was resized to fit. */
  shrunk?: string;
}

/** A file that is being sent to the daemon, because a message has no room for it. */
export interface Arriving {
  readonly name: string;
  readonly fileSize: number;
  /** Number of bytes that were sent. */
  readonly sent: number;
  readonly cancel: () => void;
}

/** Returns whether a block of a prompt can be sent again. */
export function hasContent({ type, data, resource }: AcpObject): boolean {
  if (type === "image" || type === "audio") return text(data) !== undefined;
  if (type === "resource") return isObject(resource) && (text(resource.text) ?? text(resource.blob)) !== undefined;
  return true;
}

/** Returns a name for a block of a prompt. */
export function nameOf({ type, name, uri, resource }: AcpObject): string {
  const address = text(uri) ?? (isObject(resource) ? text(resource.uri) : undefined);
  const last = address === undefined ? undefined : decoded(address.split("/").at(-1) ?? "");
  return text(name) ?? (last || (type === "image" ? "image" : type === "audio" ? "audio" : "file"));
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Returns the size of a value when sent, in bytes. */
export function sentBytes(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}
