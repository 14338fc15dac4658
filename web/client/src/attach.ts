/** Files for which a message has no room: the daemon stores them, and a prompt links to them. */

import { AcpdError } from "./errors.js";
import type { AcpObject } from "./protocol.js";

/** The largest file that the daemon stores, in bytes. */
const LARGEST = 50 << 20;
/** The daemon's codes, and the statuses without one, after which the same request may succeed. */
const PASSING_CODES = ["overloaded", "rate_limited", "agent_failed", "storage"];
const PASSING_STATUSES = [408, 429, 503];

/** The daemon, the thread, and the file. */
export interface AttachOptions {
  /** The daemon's address, as for `connect`. */
  url: string;
  /** The access token; without it, the credentials that `fetch` adds. */
  token?: string | undefined;
  /** The thread whose agent reads the file. It must exist. */
  threadId: string;
  /** The name that the agent and other clients see. */
  name: string;
  /** The content: at most 50 MiB. */
  content: Blob | Uint8Array<ArrayBuffer>;
  /** The media type. Default: that of a `Blob`, else `application/octet-stream`. */
  type?: string | undefined;
  /** Aborts the upload. */
  signal?: AbortSignal | undefined;
  /** Replaces the global `fetch`. */
  fetch?: typeof globalThis.fetch;
}

/**
 * Has the daemon store a file for a thread. Returns the block that links to it, for `input` of `turn/start` or `content` of `turn/steer`.
 * The same file under the same name has the same link, so this can be repeated.
 */
export async function attachFile(options: AttachOptions): Promise<AcpObject> {
  const { url, token, threadId, name, content, signal, fetch = globalThis.fetch } = options;
  const size = content instanceof Blob ? content.size : content.byteLength;
  if (size > LARGEST) {
    throw new AcpdError("too_large", `${name} has ${size} bytes, and at most ${LARGEST >> 20} MiB can be attached`);
  }
  const page = (globalThis as { location?: { href: string } }).location?.href;
  const address = new URL(url, page);
  address.protocol = address.protocol.replace(/^ws/, "http");
  // A lone surrogate has no encoding.
  const escaped = encodeURIComponent(name.replace(/[\uD800-\uDFFF]/gu, "_") || "file");
  address.pathname = `/api/threads/${encodeURIComponent(threadId)}/attachments/${escaped}`;
  address.search = "";
  address.hash = "";
  const type = options.type || (content instanceof Blob && content.type) || "application/octet-stream";
  let response: Response;
  try {
    response = await fetch(address.href, {
      method: "PUT",
      headers: { "content-type": type, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
      body: content,
      signal: signal ?? null,
    });
  } catch (cause) {
    if (signal?.aborted) throw new AcpdError("aborted", `${name} was not attached`, { cause });
    throw new AcpdError("disconnected", `the connection ended before the daemon had ${name}: attach it again`, { retryable: true, cause });
  }
  // A proxy may answer in another way.
  const body = (await response.json().catch(() => undefined)) as { block?: AcpObject; error?: { code?: unknown; message?: unknown } } | undefined;
  if (response.ok && typeof body?.block === "object") {
    return body.block;
  }
  const { code, message } = body?.error ?? {};
  const { status } = response;
  const local = status === 401 ? "unauthenticated" : status === 413 ? "too_large" : undefined;
  const known = local ?? (typeof code === "string" ? code : status === 403 ? "forbidden" : "internal");
  throw new AcpdError(known, typeof message === "string" ? message : `the daemon did not take ${name} (${status})`, {
    retryable: PASSING_STATUSES.includes(status) || PASSING_CODES.includes(known),
  });
}
