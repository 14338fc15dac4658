// Pasted or dropped files, as content blocks of a prompt: only kinds that the agent has declared, and within the size
// limit of a message. Large images are resized; other files are stored by the daemon if it can, or refused with a reason. Loaded with
// the first file.

import type { AcpObject, PromptCapabilities } from "../../../state/acp.ts";
import { LARGEST } from "../../../connection/upload.ts";
import { bytes } from "../../../text/format.ts";
import { type Attachment, sentBytes } from "./attachments.ts";

/** A file as a block, one for the daemon to store, or why there is neither. */
export type Taken = { attachment: Attachment } | { large: File } | { refused: string };

const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** Reads a file into a block. `room` is the remaining size of the message, in bytes. `stores` says whether the daemon can store it. */
export async function attach(file: File, can: PromptCapabilities | undefined, room: number, stores = false): Promise<Taken> {
  const taken = await embedded(file, can, room);
  if (!("refused" in taken) || !stores) return taken;
  // A folder, or a file that has changed or may not be read: sending it would fail as if the connection had.
  if (!(await isReadable(file))) return { refused: unreadable(file.name || "file") };
  if (file.size > LARGEST) return { refused: `${file.name || "file"} is too large: ${bytes(file.size)}, and a file may have ${bytes(LARGEST)}.` };
  return { large: file };
}

async function embedded(file: File, can: PromptCapabilities | undefined, room: number): Promise<Taken> {
  const name = file.name || "file";
  const refused = refusal(file, can);
  if (refused !== undefined) return { refused: `${name}: ${refused}` };
  // Files that are too large in any case are not even read.
  const least = PICTURES.has(file.type) ? pictureBytes(file) : isText(file) ? file.size : base64Bytes(file.size);
  if (least > room) return (await smaller(file, name, room)) ?? { refused: tooMuch(name, least, room) };
  try {
    const block = await blockOf(file, name);
    const size = sentBytes(block);
    return size > room ? { refused: tooMuch(name, size, room) } : { attachment: { name, block, size, fileSize: file.size } };
  } catch {
    return { refused: unreadable(name) };
  }
}

async function smaller(file: File, name: string, room: number): Promise<Taken | undefined> {
  if (!PICTURES.has(file.type)) return undefined;
  try {
    const { resizeImage } = await import("./resize-image.ts");
    const made = await resizeImage(file, (blob) => pictureBytes(blob) <= room);
    if (made === undefined) return undefined;
    const block = await pictureBlock(made.blob);
    return { attachment: { name, block, size: sentBytes(block), fileSize: made.blob.size, shrunk: made.said } };
  } catch {
    // This browser does not recognize it as an image.
    return undefined;
  }
}

async function isReadable(file: File): Promise<boolean> {
  try {
    await file.slice(0, 1).arrayBuffer();
    return true;
  } catch {
    // The user is told that it cannot be read.
    return false;
  }
}

function unreadable(name: string): string {
  return `Couldn’t read ${name}.`;
}

function tooMuch(name: string, size: number, room: number): string {
  return `${name} is too large: ${bytes(size)}, and this message has room for ${bytes(Math.max(0, room))}.`;
}

/** Returns why the agent would refuse the file. */
function refusal(file: File, can: PromptCapabilities | undefined): string | undefined {
  // If the capabilities are unknown, the daemon decides: it refuses what the agent did not declare.
  if (can === undefined) return undefined;
  if (PICTURES.has(file.type)) return can.image ? undefined : "this agent does not accept images.";
  if (file.type.startsWith("image/") && can.image) return "images must be PNG, JPEG, GIF or WebP.";
  if (file.type.startsWith("audio/")) return can.audio ? undefined : "this agent does not accept audio.";
  return can.embeddedContext ? undefined : "this agent does not accept files.";
}

function isText(file: File): boolean {
  return /^text\/|^application\/(json|xml|javascript|x-sh|toml|yaml|x-yaml)/.test(file.type) || TEXT.test(file.name);
}

/** Extensions of text files for which browsers have no type, or a wrong one (`.ts` counts as a video). */
const TEXT =
  /\.(c|cc|cfg|conf|cpp|cs|css|csv|diff|env|go|h|hpp|html?|ini|java|jsx?|json|kt|lock|log|lua|md|mjs|patch|php|pl|py|rb|rs|scss|sh|sql|svelte|swift|toml|tsx?|txt|vue|xml|ya?ml|zig)$|^(Dockerfile|Makefile)$/i;

async function blockOf(file: File, name: string): Promise<AcpObject> {
  if (PICTURES.has(file.type)) return pictureBlock(file);
  if (file.type.startsWith("audio/")) return { type: "audio", mimeType: file.type, data: await base64(file) };
  // The file is on the user's host, which may not be the agent's: any path would be wrong.
  const uri = `attachment:///${encodeURIComponent(name)}`;
  if (isText(file)) {
    const mimeType = /^text\/|^application\//.test(file.type) ? file.type : "text/plain";
    return { type: "resource", resource: { uri, mimeType, text: await file.text() } };
  }
  const mimeType = file.type || "application/octet-stream";
  return { type: "resource", resource: { uri, mimeType, blob: await base64(file) } };
}

async function pictureBlock(picture: Blob): Promise<AcpObject> {
  return { type: "image", mimeType: picture.type, data: await base64(picture) };
}

/** Returns the size of an image's block when sent, in bytes. */
function pictureBytes({ type, size }: Blob): number {
  return sentBytes({ type: "image", mimeType: type, data: "" }) + base64Bytes(size);
}

/** Returns the length in Base64, which uses four characters for three bytes. */
function base64Bytes(size: number): number {
  return Math.ceil(size / 3) * 4;
}

async function base64(file: Blob): Promise<string> {
  const read = new Uint8Array(await file.arrayBuffer());
  let binary = "";
  // The stack limits the number of arguments of `fromCharCode`.
  for (let at = 0; at < read.length; at += 8_192) binary += String.fromCharCode(...read.subarray(at, at + 8_192));
  return btoa(binary);
}
