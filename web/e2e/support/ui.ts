/**
 * Selects the UI under test: the one embedded in the daemon, if it equals the one in `dist`. Otherwise the browser
 * loads `dist` in its place, with the daemon's response headers. So work on the UI does not require a rebuild of the
 * daemon. Tests of the service worker load it from a server in front of the daemon instead, which can also have another build.
 */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, request as send } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import type { BrowserContext } from "playwright-core";

import { answering } from "./answering.ts";

export const DIST = fileURLToPath(new URL("../../dist/", import.meta.url));

const TYPES: Record<string, string> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".woff2": "font/woff2",
  ".png": "image/png",
  ".json": "application/json",
  ".webmanifest": "application/manifest+json",
};

let told = false;

/** Returns whether the daemon at this address embeds the UI of `dist`. With ACPD_SERVES_WEB=1 it must. */
export async function isBuiltIn(url: string): Promise<boolean> {
  const served = await (await fetch(url)).text();
  const same = served === (await readFile(join(DIST, "index.html"), "utf8"));
  if (!same) {
    assert.notEqual(process.env.ACPD_SERVES_WEB, "1", "the daemon has another UI built in: run make web, and build it again");
    if (!told) {
      told = true;
      console.log("The daemon has another UI built in than dist, which is tested in its place.");
    }
  }
  return same;
}

/** Replaces the embedded UI by `dist`. */
export async function putInPlace(context: BrowserContext, url: string): Promise<void> {
  const { headers } = await context.request.get(url).then((answer) => ({ headers: answer.headers() }));
  const kept = withoutBody(headers);
  // Chromium does not know the origin of such a page, and would ask for permission to connect to this host.
  await context.grantPermissions(["local-network-access"], { origin: url });
  await context.route(
    ({ origin, pathname }) => origin === url && !pathname.startsWith("/api/") && pathname !== "/ws",
    answering(async (route) => {
      const { type, body } = await read(DIST, new URL(route.request().url()).pathname);
      await route.fulfill({ headers: { ...kept, "content-type": type }, body });
    }),
  );
}

/** Returns the headers that describe no content. */
function withoutBody<T extends object>(headers: T): Omit<T, "content-length" | "content-encoding" | "etag"> {
  const { "content-length": _, "content-encoding": __, etag: ___, ...kept } = headers as T & Record<string, unknown>;
  return kept;
}

/** Returns the file at a path, or the page. */
async function read(directory: string, path: string): Promise<{ type: string; body: Buffer }> {
  const found = await readFile(join(directory, path)).catch(() => undefined);
  return found
    ? { type: TYPES[extname(path)]!, body: found }
    : { type: "text/html; charset=utf-8", body: await readFile(join(directory, "index.html")) };
}

/** A server in front of the daemon. */
export interface Front {
  /** Its address, as `host:port`. */
  readonly address: string;
  /** The directory of the UI. */
  directory: string;
  /** Whether the daemon embeds the UI of `dist`, which is then not served from there. */
  isBuiltIn: boolean;
  /** The status of all responses while the daemon is unreachable. Without one, it closes the connections. */
  whenUnreachable: number | undefined;
  end(): Promise<void>;
}

/** Serves a UI with the daemon's response headers, and forwards everything else to the daemon. */
export async function serveInFront(to: () => string): Promise<Front> {
  const ask = (request: IncomingMessage, path: string, headers = request.headers) =>
    new Promise<IncomingMessage>((done, failed) => {
      const [host, port] = to().split(":");
      // A connection each: the daemon closes one that was idle for some time, at which moment it may be used again.
      request.pipe(send({ agent: false, host, port, path, method: request.method, headers }, done).on("error", failed));
    });
  const server = createServer(async (request, response) => {
    const path = new URL(request.url!, "http://front").pathname;
    try {
      const isDaemons = front.isBuiltIn && front.directory === DIST;
      if (isDaemons || /^\/(api|acp|ws|docs)(\/|$)/.test(path)) {
        const answer = await ask(request, request.url!);
        answer.pipe(response.writeHead(answer.statusCode!, answer.headers));
        return;
      }
      const { "accept-encoding": _, "if-none-match": __, ...headers } = request.headers;
      const answer = await ask(request, "/", headers);
      answer.resume();
      const { type, body } = await read(front.directory, path);
      // As the daemon: compressed, and files whose names change with their content for a year.
      response.writeHead(answer.statusCode!, {
        ...withoutBody(answer.headers),
        "content-type": type,
        "content-encoding": "gzip",
        vary: "accept-encoding",
        ...(path.startsWith("/assets/") && { "cache-control": "max-age=31536000, immutable" }),
      });
      response.end(gzipSync(body));
    } catch {
      if (front.whenUnreachable === undefined) {
        request.socket.destroy();
      } else {
        response.writeHead(front.whenUnreachable, { "content-type": "text/html" }).end("<title>Bad gateway</title>");
      }
    }
  });
  server.on("upgrade", (request, near, head) => {
    const [host, port] = to().split(":");
    const far = connect(Number(port), host);
    near.on("error", () => far.destroy()).on("close", () => far.destroy());
    far.on("error", () => near.destroy()).on("close", () => near.destroy());
    const lines = Array.from({ length: request.rawHeaders.length / 2 }, (_, n) => request.rawHeaders.slice(2 * n, 2 * n + 2).join(": "));
    far.write([`GET ${request.url} HTTP/1.1`, ...lines, "", ""].join("\r\n"));
    far.write(head);
    far.pipe(near).pipe(far);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const front: Front = {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    directory: DIST,
    isBuiltIn: false,
    whenUnreachable: undefined,
    end: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
  return front;
}
