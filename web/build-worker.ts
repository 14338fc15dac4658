/**
 * Builds the service worker for the files of a built UI: `worker.js` beside the page, with the digest of each file that it
 * stores. Files that a browser needs only to install the page are not among them.
 */

import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { build, type Plugin, type Rolldown } from "vite";

import type { Shell } from "./src/worker/shell.ts";

const SOURCE = fileURLToPath(new URL("src/worker/worker.ts", import.meta.url));

/** Writes the worker for the UI in a directory. */
export async function buildWorker(dist: string): Promise<void> {
  const files: Record<string, string> = { "/": await integrity(join(dist, "index.html")) };
  for (const name of (await readdir(join(dist, "assets"))).sort()) {
    files[`/assets/${name}`] = await integrity(join(dist, "assets", name));
  }
  const code = await bundle();
  const id = createHash("sha256").update(code).update(JSON.stringify(files)).digest("hex").slice(0, 16);
  const shell: Shell = { build: id, files };
  await writeFile(join(dist, "worker.js"), `const SHELL=${JSON.stringify(shell)};\n${code}`);
}

async function integrity(file: string): Promise<string> {
  return `sha256-${createHash("sha256").update(await readFile(file)).digest("base64")}`;
}

/** Returns the worker's code as one script. */
async function bundle(): Promise<string> {
  const output = (await build({
    configFile: false,
    logLevel: "warn",
    publicDir: false,
    // As in its tsconfig.json.
    resolve: { alias: { "@acpd/client": fileURLToPath(new URL("client/src/protocol.ts", import.meta.url)) } },
    build: { target: "es2022", write: false, rolldownOptions: { input: SOURCE, output: { format: "iife" } } },
  })) as Rolldown.RolldownOutput;
  return output.output[0].code;
}

/** Builds the worker after the page. */
export function worker(): Plugin {
  let dist = "";
  return {
    name: "acpd-worker",
    apply: "build",
    configResolved: ({ root, build: { outDir } }) => void (dist = resolve(root, outDir)),
    // The page is written then, too.
    writeBundle: { order: "post", sequential: true, handler: () => buildWorker(dist) },
  };
}
