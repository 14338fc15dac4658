/**
 * A push service with the browsers that it serves, for tests: Chromium has none without Google. It verifies how the daemon
 * identifies itself (VAPID, RFC 8292) and decrypts what it sends (RFC 8291 and 8188), with code of Node only. `device.ts` hands what
 * it received to the browser's worker.
 */

import assert from "node:assert/strict";
import { createDecipheriv, createECDH, createPublicKey, type ECDH, hkdfSync, randomBytes, verify } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import type { BrowserContext } from "playwright-core";

/** A message as the daemon has pushed it. */
export interface Received {
  /** The path of the subscription. */
  readonly path: string;
  readonly text: string;
  readonly headers: IncomingMessage["headers"];
}

/** A subscription, as the browser hands it to the page. */
interface Given {
  readonly endpoint: string;
  readonly p256dh: string;
  readonly auth: string;
}

interface Subscribed {
  readonly own: ECDH;
  readonly auth: Buffer;
  /** The key of the daemon to which the subscription is restricted. */
  readonly daemonKey: string;
  isOver: boolean;
}

/** The longest time for which a daemon may identify itself with the same token, in seconds. */
const LONGEST_TOKEN = 24 * 3600;
const RECORD = 4096;

export class PushService {
  /** What arrived, oldest first. */
  readonly received: Received[] = [];
  /** The paths of ended subscriptions to which the daemon has still sent something. */
  readonly tooLate: string[] = [];
  /** What was wrong with messages of the daemon. */
  readonly wrongs: string[] = [];
  /** The status of all responses; 201 if absent. */
  status: number | undefined;
  /** Whether browsers reach the service. */
  isReachable = true;
  readonly #subscribed = new Map<string, Subscribed>();

  private constructor(private readonly server: Server) {}

  static async start(): Promise<PushService> {
    const server = createServer((request, response) => {
      void service.#handle(request).then((status) => response.writeHead(status).end());
    });
    const service = new PushService(server);
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    return service;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** The number of subscriptions that browsers have not ended. */
  get live(): number {
    return [...this.#subscribed.values()].filter(({ isOver }) => !isOver).length;
  }

  /** Ends all subscriptions, as when a browser is removed. The daemon learns it by its next message. */
  endAll(): void {
    this.#subscribed.forEach((one) => (one.isOver = true));
  }

  async end(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
    assert.deepEqual(this.wrongs, []);
  }

  /** Lets the pages of a browser context subscribe here. The rest of the browser is its own. */
  async serve(context: BrowserContext): Promise<void> {
    await context.exposeFunction("pushSubscribe", (daemonKey: string) => this.#subscribe(daemonKey));
    await context.exposeFunction("pushUnsubscribe", (endpoint: string) => this.#unsubscribe(endpoint));
    await context.addInitScript(replaceSubscriptions);
  }

  #subscribe(daemonKey: string): Given | undefined {
    return this.isReachable ? this.issue(daemonKey) : undefined;
  }

  /** Makes a subscription that is restricted to a daemon. */
  issue(daemonKey: string): Given {
    const own = createECDH("prime256v1");
    const auth = randomBytes(16);
    const path = `/push/${randomBytes(16).toString("hex")}`;
    this.#subscribed.set(path, { own, auth, daemonKey, isOver: false });
    return { endpoint: this.origin + path, p256dh: own.generateKeys("base64url"), auth: auth.toString("base64url") };
  }

  #unsubscribe(endpoint: string): void {
    this.#subscribed.get(new URL(endpoint).pathname)!.isOver = true;
  }

  async #handle(request: IncomingMessage): Promise<number> {
    try {
      const body = Buffer.concat(await request.toArray() as Buffer[]);
      const to = this.#subscribed.get(request.url!);
      assert.ok(to, `nobody has the address ${request.url}`);
      if (to.isOver) {
        this.tooLate.push(request.url!);
        return 410;
      }
      assert.equal(request.method, "POST");
      assert.match(String(request.headers.ttl), /^\d+$/);
      assert.match(String(request.headers.urgency), /^(very-low|low|normal|high)$/);
      assert.match(String(request.headers.topic ?? "x"), /^[\w-]{1,32}$/);
      assert.equal(request.headers["content-encoding"], "aes128gcm");
      assert.ok(body.length <= RECORD, `${body.length} bytes`);
      this.#identify(request.headers.authorization ?? "", to.daemonKey);
      const text = decrypt(body, to);
      if (this.status === undefined) {
        this.received.push({ path: request.url!, text, headers: request.headers });
      }
      return this.status ?? 201;
    } catch (error) {
      this.wrongs.push((error as Error).message);
      return 400;
    }
  }

  /** Verifies the token of the daemon. */
  #identify(authorization: string, daemonKey: string): void {
    const [, token, key] = /^vapid t=([\w-]+\.[\w-]+\.[\w-]+), ?k=([\w-]+)$/.exec(authorization) ?? assert.fail(authorization);
    assert.equal(key, daemonKey, "another key than that of the subscription");
    const [head, claims, signature] = token!.split(".") as [string, string, string];
    const read = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString()) as Record<string, unknown>;
    assert.deepEqual(read(head), { typ: "JWT", alg: "ES256" });
    const point = Buffer.from(key!, "base64url");
    assert.equal(point.length, 65);
    const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((half) => half.toString("base64url"));
    const publicKey = createPublicKey({ format: "jwk", key: { kty: "EC", crv: "P-256", x, y } });
    const isSigned = verify("sha256", Buffer.from(`${head}.${claims}`), { key: publicKey, dsaEncoding: "ieee-p1363" }, Buffer.from(signature, "base64url"));
    assert.ok(isSigned, "the token's signature is wrong");
    const { aud, exp, sub } = read(claims);
    assert.equal(aud, this.origin);
    const left = (exp as number) - Date.now() / 1000;
    assert.ok(left > 0 && left <= LONGEST_TOKEN, `the token is valid for ${left} s`);
    assert.match(String(sub), /^(mailto:.+@|https:\/\/)/);
  }
}

/** Decrypts a message of one record. */
function decrypt(body: Buffer, { own, auth }: Subscribed): string {
  const salt = body.subarray(0, 16);
  assert.ok(body.readUInt32BE(16) >= body.length - 86, "there are several records");
  assert.equal(body[20], 65, "the length of the sender's key");
  const sender = body.subarray(21, 86);
  const sealed = body.subarray(86);
  const derive = (secret: Buffer, salt: Buffer, info: Buffer | string, length: number) => Buffer.from(hkdfSync("sha256", secret, salt, info, length));
  const info = Buffer.concat([Buffer.from("WebPush: info\0"), own.getPublicKey(), sender]);
  const input = derive(own.computeSecret(sender), auth, info, 32);
  const key = derive(input, salt, "Content-Encoding: aes128gcm\0", 16);
  const nonce = derive(input, salt, "Content-Encoding: nonce\0", 12);
  const cipher = createDecipheriv("aes-128-gcm", key, nonce);
  cipher.setAuthTag(sealed.subarray(-16));
  const padded = Buffer.concat([cipher.update(sealed.subarray(0, -16)), cipher.final()]);
  const end = padded.findLastIndex((byte) => byte !== 0);
  assert.equal(padded[end], 2, "the mark of the last record");
  return padded.subarray(0, end).toString();
}

/** Replaces the browser's subscriptions by those of the test. Runs in the page. */
function replaceSubscriptions(): void {
  interface Stored extends Given {
    readonly key: string;
  }
  const tools = window as unknown as {
    pushSubscribe(key: string): Promise<Given | undefined>;
    pushUnsubscribe(endpoint: string): Promise<void>;
  };
  const NAME = "test.push";
  const bytes = (text: string) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (letter) => letter.charCodeAt(0));
  const made = ({ endpoint, p256dh, auth, key }: Stored) => ({
    endpoint,
    expirationTime: null,
    options: { userVisibleOnly: true, applicationServerKey: bytes(key).buffer },
    toJSON: () => ({ endpoint, expirationTime: null, keys: { p256dh, auth } }),
    unsubscribe: async () => {
      localStorage.removeItem(NAME);
      await tools.pushUnsubscribe(endpoint);
      return true;
    },
  });
  const known = () => JSON.parse(localStorage.getItem(NAME) ?? "null") as Stored | null;
  const replaced = {
    getSubscription: async () => {
      const stored = known();
      return stored && made(stored);
    },
    subscribe: async ({ userVisibleOnly, applicationServerKey }: { userVisibleOnly: boolean; applicationServerKey: Uint8Array }) => {
      const key = btoa(String.fromCharCode(...applicationServerKey)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
      if (!userVisibleOnly || key.length !== 87) {
        throw new DOMException("invalid options", "InvalidAccessError");
      }
      if (Notification.permission !== "granted") {
        throw new DOMException("permission denied", "NotAllowedError");
      }
      const stored = known();
      if (stored && stored.key !== key) {
        throw new DOMException("a subscription with a different applicationServerKey already exists", "InvalidStateError");
      }
      if (stored) {
        return made(stored);
      }
      const given = await tools.pushSubscribe(key);
      if (!given) {
        throw new DOMException("Registration failed - push service error", "AbortError");
      }
      localStorage.setItem(NAME, JSON.stringify({ ...given, key }));
      return made({ ...given, key });
    },
  };
  Object.assign(PushManager.prototype, replaced);
}
