#!/usr/bin/env node
// Starts the acpd binary of this platform's package, with the same arguments, terminal and exit code.
"use strict";

const { spawn } = require("node:child_process");
const os = require("node:os");

/** The platform packages that can run here, best first. A musl binary is static, so it also runs with glibc. */
function candidates() {
  const name = `${process.platform}-${process.arch}`;
  if (process.platform !== "linux") return [name];
  const hasGlibc = Boolean(process.report.getReport().header.glibcVersionRuntime);
  return hasGlibc ? [name, `${name}-musl`] : [`${name}-musl`];
}

function findBinary() {
  const names = candidates().map((name) => `@acpd/${name}`);
  for (const name of names) {
    try {
      return require.resolve(`${name}/bin/acpd`);
    } catch (error) {
      if (error.code !== "MODULE_NOT_FOUND") throw error;
    }
  }
  const { version, optionalDependencies = {} } = require("../package.json");
  const isOffered = names.some((name) => name in optionalDependencies);
  console.error(
    isOffered
      ? `acpd: the package ${names.join(" or ")} is not installed. npm omitted optional dependencies: ` +
          `run "npm install ${names.find((name) => name in optionalDependencies)}@${version}".`
      : `acpd: acpd ${version} has no npm package for ${process.platform}-${process.arch} (${names.join(" or ")}). ` +
          "Build it from source: docs/install.md.",
  );
  process.exit(1);
}

const child = spawn(findBinary(), process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`acpd: cannot start the binary: ${error.message}`);
  process.exit(1);
});
// On a terminal, Ctrl-C reaches both processes; a second signal would interrupt the child twice.
process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"));
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => {
  process.exit(signal ? 128 + os.constants.signals[signal] : code);
});
