/**
 * Stands before the daemon, so that its network can be cut. It serves the UI as it was just built, with the headers that
 * the daemon says; with ACPD_SERVES_WEB=1 the daemon itself does, with what was built into it.
 */

import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

const DIST = fileURLToPath(new URL("../../dist/", import.meta.url));

/** The policy under which the UI must work. */
export const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; " +
  "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; manifest-src 'self'";

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

export interface Served {
  readonly url: string;
  /** Breaks every connection and takes no new ones, until `up`. */
  down(): void;
  up(): void;
  end(): Promise<void>;
}

/** Serves the UI before the daemon at this address. */
export async function serve(daemon: () => string): Promise<Served> {
  const byDaemon = process.env.ACPD_SERVES_WEB === "1";
  let cut = false;
  const sockets = new Set<Socket>();
  const headers = (from: IncomingMessage) => {
    const to = { ...from.headers, host: daemon() };
    if (to.origin !== undefined) {
      to.origin = `http://${daemon()}`;
    }
    return to;
  };
  const server: Server = createServer((from, to) => {
    const { pathname } = new URL(from.url ?? "/", "http://here");
    if (byDaemon || pathname.startsWith("/api/")) {
      pass(from, to);
    } else {
      void file(pathname, to);
    }
  });
  function pass(from: IncomingMessage, to: ServerResponse): void {
    const [host, port] = daemon().split(":");
    const on = request({ host, port, path: from.url, method: from.method, headers: headers(from) }, (answer) => {
      to.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(to);
    });
    on.on("error", () => to.writeHead(502).end());
    from.pipe(on);
  }
  async function file(pathname: string, to: ServerResponse): Promise<void> {
    const found = await readFile(join(DIST, pathname)).catch(() => undefined);
    const isAsset = pathname.startsWith("/assets/");
    if (!found && isAsset) {
      to.writeHead(404).end();
      return;
    }
    const body = found ?? (await readFile(join(DIST, "index.html")));
    to.writeHead(200, {
      "content-type": found ? (TYPES[extname(pathname)] ?? "application/octet-stream") : TYPES[".html"],
      "content-security-policy": CSP,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cache-control": isAsset ? "public, max-age=31536000, immutable" : "no-cache",
    });
    to.end(body);
  }
  server.on("upgrade", (from, socket: Socket, head) => {
    const [host, port] = daemon().split(":");
    const on = connect(Number(port), host, () => {
      const lines = Object.entries(headers(from)).map(([name, value]) => `${name}: ${String(value)}`);
      on.write(`GET ${from.url} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
      on.write(head);
      socket.pipe(on).pipe(socket);
    });
    sockets.add(on);
    const over = () => {
      sockets.delete(on);
      on.destroy();
      socket.destroy();
    };
    for (const one of [on, socket]) {
      one.on("error", over);
      one.on("close", over);
    }
  });
  server.on("connection", (socket) => {
    if (cut) {
      socket.destroy();
      return;
    }
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const breakAll = () => {
    for (const socket of sockets) {
      socket.destroy();
    }
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    down: () => {
      cut = true;
      breakAll();
    },
    up: () => {
      cut = false;
    },
    end: () =>
      new Promise((done) => {
        breakAll();
        server.close(() => done());
      }),
  };
}
