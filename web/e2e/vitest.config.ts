/** The browser tests: run one after the other, each with its own daemon. */

import { fileURLToPath } from "node:url";

import { defineConfig } from "vitest/config";

export default defineConfig({
  root: fileURLToPath(new URL("..", import.meta.url)),
  resolve: {
    alias: { "@acpd/client": fileURLToPath(new URL("../client/src/index.ts", import.meta.url)) },
  },
  test: {
    environment: "node",
    include: ["e2e/**/*.test.ts"],
    setupFiles: ["e2e/support/failures.ts"],
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 15_000 } },
  },
});
