/** Exports a thread as Markdown: node export.ts THREAD FILE. Exports are HTTP, not part of the protocol. */

import { writeFileSync } from "node:fs";

const [threadId = "", file = "thread.md"] = process.argv.slice(2);
const url = new URL(`/api/threads/${threadId}/export?format=md`, process.env.ACPD_URL ?? "http://127.0.0.1:4127");
const response = await fetch(url, { headers: { authorization: `Bearer ${process.env.ACPD_TOKEN}` } });
// The daemon streams the export. If the connection breaks in between, this fails.
const text = await response.text();
if (response.ok) {
  writeFileSync(file, text);
  console.log(`${threadId} is in ${file}`);
} else {
  console.error(`${threadId} cannot be exported: ${text}`);
  process.exitCode = 1;
}
