/** A TCP proxy between browsers and the daemon that can be cut, or lose its peers. It changes no bytes. */

import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Cable {
  /** The address for browsers, as `host:port`. */
  readonly address: string;
  /** Breaks all connections and refuses new ones, until `mend`. */
  cut(): void;
  mend(): void;
  /**
   * Existing connections receive nothing further from the other end, not even that it is gone: as after a host's long
   * sleep.
   */
  lose(): void;
  end(): Promise<void>;
}

/** Starts a proxy to the address that `to` returns at the time of each connection. */
export async function layCable(to: () => string): Promise<Cable> {
  const sockets = new Set<Socket>();
  const pairs = new Set<{ near: Socket; far: Socket; lost: boolean }>();
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) {
      near.destroy();
      return;
    }
    const [host, port] = to().split(":");
    const far = connect(Number(port), host);
    const pair = { near, far, lost: false };
    pairs.add(pair);
    const over = () => {
      if (!pair.lost) {
        near.destroy();
      }
      far.destroy();
      pairs.delete(pair);
    };
    for (const [from, into] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on("data", (bytes) => pair.lost || into.write(bytes));
      from.on("end", () => pair.lost || into.end());
      from.on("error", over);
      from.on("close", () => {
        sockets.delete(from);
        over();
      });
    }
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const breakAll = () => {
    for (const socket of sockets) {
      socket.destroy();
    }
  };
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut: () => {
      isCut = true;
      breakAll();
    },
    mend: () => {
      isCut = false;
    },
    lose: () => {
      for (const pair of pairs) {
        pair.lost = true;
        pair.far.destroy();
      }
    },
    end: () =>
      new Promise((done) => {
        breakAll();
        server.close(() => done());
      }),
  };
}
