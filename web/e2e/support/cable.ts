/** A cable between browsers and the daemon, which can be cut, or lose its ends. It changes no byte. */

import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Cable {
  /** `host:port`, as browsers have it. */
  readonly address: string;
  /** Breaks every connection and takes no new ones, until `mend`. */
  cut(): void;
  mend(): void;
  /** What is connected now hears no more of the other end, not even that it has gone: as when a machine has slept for long. */
  lose(): void;
  end(): Promise<void>;
}

/** Lays a cable to whatever is at this address by then. */
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
