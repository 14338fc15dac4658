// Stands between a client and the agent that it starts, changes nothing, and appends every frame to a file:
// node tee.mjs FILE COMMAND [ARG...]

import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";

const [file, command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });

/** Passes `from` on to `to`; each line of it is a frame. */
function pass(from, to, name) {
  let rest = "";
  from.setEncoding("utf8");
  from.on("data", (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    // One write for each line, since several clients may append to this file.
    for (const line of lines) {
      appendFileSync(file, `${JSON.stringify({ on: process.pid, [name]: JSON.parse(line) })}\n`);
    }
    to.write(text);
  });
  from.on("end", () => to.end());
}

pass(process.stdin, child.stdin, "sent");
pass(child.stdout, process.stdout, "got");
child.on("exit", (code) => process.exit(code ?? 1));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
