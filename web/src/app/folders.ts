/** Folders of the daemon's host, for users who choose where a thread works. */

import type { FoldersListed } from "@acpd/client";

import { client } from "../connection/connection.ts";

/** Time for which a listing is reused, in milliseconds: as long as a user types. */
const FRESH_MS = 10_000;

const listings = new Map<string, { at: number; listing: Promise<FoldersListed> }>();

/** Lists the folders in a folder, whose path may begin with `~`. */
export function listFolders(path: string): Promise<FoldersListed> {
  const known = listings.get(path);
  if (known && performance.now() - known.at < FRESH_MS) {
    return known.listing;
  }
  const now = client.peek();
  const listing = now ? now.call("folder/list", { path }) : Promise.reject(new Error("there is no connection"));
  listings.set(path, { at: performance.now(), listing });
  listing.catch(() => listings.delete(path));
  return listing;
}

/** Creates a folder; returns its absolute path. */
export async function createFolder(path: string): Promise<string> {
  const now = client.peek();
  if (!now) {
    throw new Error("there is no connection");
  }
  listings.clear();
  return (await now.call("folder/create", { path })).path;
}

/** A folder that the user can choose, and where it was found. */
export interface Suggestion {
  readonly path: string;
  /** What of the path is shown. */
  readonly name: string;
  readonly repository: boolean;
  readonly recent: boolean;
}

/** Splits a typed path at its last slash: the folder to list, and the beginning of a name in it. */
export function splitTyped(typed: string): { folder: string; start: string } | undefined {
  const text = typed === "~" ? "~/" : typed;
  const at = text.lastIndexOf("/");
  return /^[/~]/.test(text) && at >= 0 ? { folder: text.slice(0, at + 1), start: text.slice(at + 1) } : undefined;
}

/** Returns the folders that complete a typed path. Hidden ones need their dot; a name that is complete needs no other. */
export function completions({ path, folders }: FoldersListed, start: string): Suggestion[] {
  const wanted = start.toLowerCase();
  const found = folders.filter(({ name }) => name.toLowerCase().startsWith(wanted) && (start.startsWith(".") || !name.startsWith(".")));
  const others = found.length === 1 && found[0]!.name === start ? [] : found;
  return others.map(({ name, repository }) => ({ path: join(path, name), name, repository, recent: false }));
}

/** Returns the recent folders that contain what was typed. */
export function recentMatches(recent: readonly string[], typed: string): Suggestion[] {
  const wanted = typed.replace(/^~/, "").toLowerCase();
  return recent
    .filter((path) => path !== typed && path.toLowerCase().includes(wanted))
    .map((path) => ({ path, name: path, repository: false, recent: true }));
}

/** Joins a folder and a name in it. */
export function join(folder: string, name: string): string {
  return folder.endsWith("/") ? folder + name : `${folder}/${name}`;
}
