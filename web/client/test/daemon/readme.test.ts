import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { Daemon } from "../support/daemon.js";

test("the example in the README works as it stands", async (t) => {
  const daemon = await Daemon.start(t);
  const readme = await readFile(new URL("../../README.md", import.meta.url), "utf8");
  const example = /```js\n([^]*?)```/.exec(readme)?.[1] ?? assert.fail("it has no example");
  // The demo agent wants to be watched; the fake one is the same in a hurry.
  const script = fileURLToPath(new URL("../readme.mjs", import.meta.url));
  await writeFile(script, example.replace('"demo"', '"fake"').replace('"hello"', '"permission kind=execute; say bye"'));
  const { stdout } = await promisify(execFile)(process.execPath, [script], {
    cwd: daemon.work,
    env: { ...process.env, ACPD_URL: daemon.url, ACPD_TOKEN: await daemon.token() },
    timeout: 60_000,
  });
  assert.match(stdout, /may it run/);
  assert.match(stdout, /rejected \(reject_once\)bye$/);
});
