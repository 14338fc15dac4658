/**
 * How the UI is built: one page and its assets, all of them files of this origin, so that the daemon's strict
 * Content-Security-Policy holds. The client of the protocol is taken from its sources, so that a clean clone builds.
 */

import { fileURLToPath } from "node:url";

import { defineConfig } from "vitest/config";

import { worker } from "./build-worker.ts";

/** The daemon that `npm run dev` passes requests on to. */
const daemon = process.env.ACPD_URL ?? "http://127.0.0.1:4127";

interface Modules {
  getModuleInfo(id: string): { readonly importedIds: readonly string[] } | null;
}

/** Small modules that several lazy views share: in a chunk each they would be compressed worse, and need more requests. */
const SHARED = [
  "text/find-words.ts",
  "text/who.ts",
  "views/parts/Dialog.tsx",
  "views/parts/in-sight.ts",
  "views/thread/content/context.ts",
  "views/thread/content/CopyButton.tsx",
  "views/thread/content/Icon.tsx",
  "views/thread/composer/ComposerBox.tsx",
  "views/thread/content/settings.ts",
];

const source = (path: string) => fileURLToPath(new URL(`src/${path}`, import.meta.url));

let first: Set<string> | undefined;

/** Returns the name of the first chunk for modules that the entry imports, directly or not, other than lazily, and for shared ones. */
function firstLoad(id: string, modules: Modules): string | null {
  if (first === undefined) {
    first = new Set();
    const add = (one: string) => {
      if (!first!.has(one)) {
        const known = modules.getModuleInfo(one);
        if (known === null) {
          throw new Error(`vite.config.ts: no view imports ${one}`);
        }
        first!.add(one);
        known.importedIds.forEach(add);
      }
    };
    const entry = source("main.tsx");
    add(entry);
    SHARED.map(source).forEach(add);
    // The entry keeps its own chunk, which the manifest names.
    first.delete(entry);
  }
  return first.has(id) ? "first" : null;
}

export default defineConfig({
  plugins: [worker()],
  resolve: {
    alias: { "@acpd/client": fileURLToPath(new URL("client/src/index.ts", import.meta.url)) },
  },
  build: {
    target: "es2022",
    manifest: true,
    // A data: URL would be outside of the policy for fonts and styles.
    assetsInlineLimit: 0,
    // The polyfill for preloading is not needed by browsers of these years.
    modulePreload: { polyfill: false },
    // One file for all that the page needs at first: parts that lazy views share would be compressed worse alone.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: firstLoad }] } } },
  },
  server: {
    // Tests hold what is said of presets against the page about them, and characters and addresses against the daemon's.
    fs: { allow: [".", "../docs", "../crates/model/fixtures", "../crates/web/src"] },
    proxy: {
      // The daemon wants its own name in Host and Origin.
      "/api": { target: daemon, changeOrigin: true, headers: { origin: daemon } },
      "/ws": { target: daemon, ws: true, changeOrigin: true, headers: { origin: daemon } },
      "/docs": { target: daemon, changeOrigin: true, headers: { origin: daemon } },
    },
  },
  test: {
    environment: "happy-dom",
    setupFiles: ["test/setup.ts"],
    // Some tests read these; the others have no use for styles.
    css: { include: [/(tokens|fonts|book|virtual|folder-dialog)\.css/] },
    // Only failures take long, and busy machines.
    testTimeout: 30_000,
    include: ["src/**/*.test.{ts,tsx}", "test/**/*.test.{ts,tsx}"],
  },
});
