import assert from "node:assert/strict";
import { test } from "node:test";

import { type AcpdError, attachFile } from "@acpd/client";

const FILE = { url: "ws://box:4127/ws?x=1#y", threadId: "t/1", name: "a b\ud800#?.pdf", content: new Uint8Array([1, 2]) };

/** Answers each request with a status and a body; returns the requests. */
function answering(status: number, body: string) {
  const asked: [string, RequestInit][] = [];
  const fetch = (url: string, init: RequestInit) => {
    asked.push([url, init]);
    return Promise.resolve(new Response(body, { status }));
  };
  return { asked, fetch: fetch as typeof globalThis.fetch };
}

test("a file is sent with its name and type, and the block comes back", async () => {
  const block = { type: "resource_link", uri: "file:///d/a" };
  const { asked, fetch } = answering(200, JSON.stringify({ block }));
  assert.deepEqual(await attachFile({ ...FILE, token: "secret", fetch }), block);
  await attachFile({ ...FILE, name: "", content: new Blob(["x"], { type: "text/plain" }), fetch });
  const [[url, init], [second, other]] = asked as [[string, RequestInit], [string, RequestInit]];
  assert.equal(url, "http://box:4127/api/threads/t%2F1/attachments/a%20b_%23%3F.pdf");
  assert.deepEqual([init.method, init.body, init.headers], ["PUT", FILE.content, { "content-type": "application/octet-stream", authorization: "Bearer secret" }]);
  assert(second.endsWith("/attachments/file"));
  assert.deepEqual(other.headers, { "content-type": "text/plain" });
});

test("a refusal is an error with the daemon's words, or with those of the client", async () => {
  const error = (code: string, message: string) => JSON.stringify({ error: { code, message } });
  for (const [status, body, expected] of [
    [409, error("conflict", "this thread has no room"), ["conflict", "this thread has no room", false]],
    [503, error("overloaded", "try again"), ["overloaded", "try again", true]],
    [403, error("forbidden", "not your thread"), ["forbidden", "not your thread", false]],
    [403, "<html>", ["forbidden", `the daemon did not take ${FILE.name} (403)`, false]],
    [408, error("invalid_request", "too slow"), ["invalid_request", "too slow", true]],
    [413, error("invalid_params", "too many bytes"), ["too_large", "too many bytes", false]],
    [429, error("rate_limited", "later"), ["rate_limited", "later", true]],
    [429, "", ["internal", `the daemon did not take ${FILE.name} (429)`, true]],
    [500, error("storage", "the disk is full"), ["storage", "the disk is full", true]],
    [413, "<html>", ["too_large", `the daemon did not take ${FILE.name} (413)`, false]],
    [401, "", ["unauthenticated", `the daemon did not take ${FILE.name} (401)`, false]],
    [200, "{}", ["internal", `the daemon did not take ${FILE.name} (200)`, false]],
    [200, "null", ["internal", `the daemon did not take ${FILE.name} (200)`, false]],
  ] as const) {
    await assert.rejects(attachFile({ ...FILE, fetch: answering(status, body).fetch }), ({ code, message, retryable }: AcpdError) => {
      assert.deepEqual([code, message, retryable], expected);
      return true;
    });
  }
});

test("a connection that ends can be tried again; what was aborted is over", async () => {
  const fails = (() => Promise.reject(new TypeError("fetch failed"))) as typeof globalThis.fetch;
  await assert.rejects(attachFile({ ...FILE, fetch: fails }), { code: "disconnected", retryable: true });
  const signal = AbortSignal.abort();
  await assert.rejects(attachFile({ ...FILE, fetch: fails, signal }), { code: "aborted" });
});

test("a file that is too large is not sent", async () => {
  const { asked, fetch } = answering(200, "{}");
  for (const content of [new Uint8Array((50 << 20) + 1), new Blob([new Uint8Array((50 << 20) + 1)])]) {
    await assert.rejects(attachFile({ ...FILE, content, fetch }), { code: "too_large", retryable: false });
  }
  assert.deepEqual(asked, []);
});
