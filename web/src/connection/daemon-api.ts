/** Small requests to the daemon over HTTP, beside the connection. */

import { withPeriod } from "../text/format.ts";
import { fetchAsPage } from "./page-key.ts";
import { read, Refused, Unreachable } from "./session.ts";

/** Sends a request as this page. Rejects with a sentence. */
export async function request<T>(method: string, path: string, body?: object): Promise<T> {
  const headers = { accept: "application/json", ...(body && { "content-type": "application/json" }) };
  let response: Response;
  try {
    response = await fetchAsPage(path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  } catch {
    throw new Unreachable("The daemon is unreachable.");
  }
  return read<T>(response).catch((error: unknown) => {
    throw new Refused(asSentence((error as Error).message));
  });
}

/** The daemon's errors have no capital and no period, because other clients quote them. */
function asSentence(words: string): string {
  return withPeriod(words.charAt(0).toUpperCase() + words.slice(1));
}
