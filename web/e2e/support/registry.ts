/** An agent registry on this host, with one agent whose program runs the fake agent. */

import { createHash } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import { FAKE_AGENT } from "./daemon.ts";

export interface Registry {
  /** Lines of acpd.toml. */
  readonly config: readonly string[];
  /** Lets the downloads go on, which stop in the middle until then. */
  release(): void;
  end(): void;
}

/** Starts a registry. The agent requires a sign-in. */
export async function serveRegistry(): Promise<Registry> {
  // A comment that is long enough for a download to have a middle.
  const program = `#!/bin/sh\nexec '${FAKE_AGENT}' --pace 0 --sign-in\n#${" ".repeat(400_000)}\n`;
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const server: Server = createServer((request, response) => {
    if (request.url === "/registry.json") {
      response.end(JSON.stringify({ version: "1.0.0", agents: [entry(address())] }));
      return;
    }
    response.setHeader("content-length", program.length);
    response.write(program.slice(0, 100_000));
    void released.then(() => response.end(program.slice(100_000)));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const entry = (at: string) => {
    const sha256 = createHash("sha256").update(program).digest("hex");
    const arch = process.arch === "arm64" ? "aarch64" : "x86_64";
    const binary = { [`linux-${arch}`]: { archive: `${at}/agent`, cmd: "./agent", sha256 } };
    return { id: "looped", name: "Looped", version: "1.2.3", description: "An agent of this test", distribution: { binary } };
  };
  return {
    config: [`registry_url = "${address()}/registry.json"`],
    release,
    end: () => {
      release();
      server.closeAllConnections();
      server.close();
    },
  };
}
