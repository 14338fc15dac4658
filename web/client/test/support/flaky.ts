/** A wire to the daemon that breaks after so many bytes, in the middle of whatever is on it. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type test from "node:test";

export class FlakyWire {
  /** Connections that were broken. */
  cuts = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(target: URL, bytes: number) {
    this.#server = createServer((client) => {
      const daemon = connect(Number(target.port), target.hostname);
      const cut = () => {
        client.destroy();
        daemon.destroy();
      };
      for (const socket of [client, daemon]) {
        this.#sockets.add(socket);
        socket.on("error", cut);
        socket.on("close", () => {
          this.#sockets.delete(socket);
          cut();
        });
      }
      // The daemon lets nobody in who takes it for somebody else.
      client.once("data", (data) => {
        const head = data.toString("latin1").replace(/^host: .*$/im, `Host: ${target.host}`);
        daemon.write(Buffer.from(head, "latin1"));
        client.on("data", (more) => daemon.write(more));
      });
      // Each one lasts a little longer, so that it is not always the same frame that is cut.
      let left = bytes + 37 * this.cuts;
      daemon.on("data", (data: Buffer) => {
        client.write(data.subarray(0, left));
        left -= data.length;
        if (left <= 0) {
          this.cuts++;
          daemon.destroy();
          client.end();
        }
      });
    });
  }

  static async to(t: test.TestContext, url: string, bytes: number): Promise<FlakyWire> {
    const wire = new FlakyWire(new URL(url), bytes);
    wire.#server.listen(0, "127.0.0.1");
    await once(wire.#server, "listening");
    t.after(() => {
      wire.#server.close();
      for (const socket of wire.#sockets) {
        socket.destroy();
      }
    });
    return wire;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }
}
