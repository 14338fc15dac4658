/** Sends a request again whose answer a broken connection has lost. Requests with an id of the client's, such as `turn/start`, have their effect once. */

import type { Client } from "@acpd/client";

/** Runs a call, and once more if the connection breaks before the answer and is back. */
export async function twice<T>(client: Client, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if ((error as { code?: string }).code !== "disconnected") {
      throw error;
    }
    await client.ready();
    return call();
  }
}
