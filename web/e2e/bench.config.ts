/** The benchmark of the page. It depends on the time, so it is no part of the tests. */

import { defineConfig } from "vitest/config";

import tests from "./vitest.config.ts";

export default defineConfig({ ...tests, test: { ...tests.test, include: ["e2e/**/*.bench.ts"] } });
