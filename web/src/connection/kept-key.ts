/**
 * The page key where the service worker can read it, which has no `localStorage`. Stored in IndexedDB only while this browser
 * receives pushed notifications, and only the key of its own session: the worker answers questions with it.
 */

import { withPeriod } from "../text/format.ts";
import { within } from "../text/within.ts";

/** What pushed notifications are about. */
export type PushKind = "waiting" | "done" | "failed";

export interface Kept {
  readonly pageKey: string;
  /** What the daemon pushes to this browser. */
  readonly on: readonly PushKind[];
}

/** The browser could not store or read the key; the message is a sentence for the user. */
export class StorageFailed extends Error {
  override readonly name = "StorageFailed";
}

const DATABASE = "acpd";
const STORE = "push";
const ENTRY = "session";

/** Time for an operation, in milliseconds. Damaged databases of some browsers never respond. */
const PATIENCE_MS = 5_000;

/** Stores the key, in place of an earlier one. */
export async function keepKey(kept: Kept): Promise<void> {
  await transact((store) => store.put(kept, ENTRY), "readwrite");
}

/** Returns the stored key, if there is one. */
export async function keptKey(): Promise<Kept | undefined> {
  const found = (await transact((store) => store.get(ENTRY), "readonly")) as Partial<Kept> | undefined;
  return typeof found?.pageKey === "string" && Array.isArray(found.on) ? { pageKey: found.pageKey, on: found.on } : undefined;
}

/** Removes the key. */
export async function forgetKey(): Promise<void> {
  await transact((store) => store.delete(ENTRY), "readwrite");
}

/** Runs a request in a transaction of its own; returns its result once it is stored. */
async function transact(request: (store: IDBObjectStore) => IDBRequest, mode: IDBTransactionMode): Promise<unknown> {
  try {
    return await within(run(request, mode), PATIENCE_MS, new Error("its database does not respond"));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new StorageFailed(`This browser stores nothing for acpd, as in some private windows: ${withPeriod(why)}`, { cause: error });
  }
}

async function run(request: (store: IDBObjectStore) => IDBRequest, mode: IDBTransactionMode): Promise<unknown> {
  const database = await new Promise<IDBDatabase>((resolve, reject) => {
    const opening = indexedDB.open(DATABASE, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
  try {
    return await new Promise((resolve, reject) => {
      const transaction = database.transaction(STORE, mode);
      const made = request(transaction.objectStore(STORE));
      transaction.oncomplete = () => resolve(made.result);
      transaction.onerror = () => reject(transaction.error);
      transaction.onabort = () => reject(transaction.error);
    });
  } finally {
    database.close();
  }
}
