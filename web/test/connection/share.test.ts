/** Links to shared threads: what of the address stays, and which session the page uses. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { openShare, takeFromLink } from "../../src/connection/session.ts";

const SECRET = `acpd_share_0123456789abcdef_${"ab".repeat(32)}`;

interface Sent {
  method: string;
  key: string | null;
  body?: string;
}

let sent: Sent[];
/** The sessions of the daemon, by page key. */
let sessions: Map<string, object>;

beforeEach(() => {
  sent = [];
  sessions = new Map();
  localStorage.clear();
  vi.stubGlobal("fetch", async (_: string, init: RequestInit = {}) => {
    const key = new Headers(init.headers).get("acpd-page-key");
    const method = init.method ?? "GET";
    sent.push({ method, key, ...(typeof init.body === "string" && { body: init.body }) });
    if (method === "POST") {
      if (init.body !== JSON.stringify({ token: SECRET })) {
        return Response.json({}, { status: 401 });
      }
      const session = { principal: "share:x", role: "observer", share: { id: "0123456789abcdef", threadId: "t", expiresAt: 9 } };
      sessions.set("made", session);
      return Response.json({ ...session, pageKey: "made" });
    }
    const session = sessions.get(key ?? "");
    return session ? Response.json(session) : Response.json({}, { status: 401 });
  });
});
afterEach(() => vi.unstubAllGlobals());

test("the secret leaves the address at once, and the id of the link stays", () => {
  history.replaceState(null, "", `/threads/t#share=${SECRET}`);
  expect(takeFromLink()).toEqual({ share: { id: "0123456789abcdef", secret: SECRET } });
  expect(location.href).not.toContain("ab".repeat(32));
  expect(location.hash).toBe("#shared=0123456789abcdef");
  expect(takeFromLink()).toEqual({ share: { id: "0123456789abcdef" } });
  history.replaceState(null, "", "/#ticket=x");
  expect(takeFromLink()).toEqual({ ticket: "x" });
});

test("a link is exchanged once, and its key is kept beside that of the user", async () => {
  localStorage.setItem("acpd.page-key", "own");
  sessions.set("own", { principal: "owner", role: "owner" });
  const link = { id: "0123456789abcdef", secret: SECRET };
  expect((await openShare(link))?.share?.threadId).toBe("t");
  expect(localStorage.getItem("acpd.page-key")).toBe("own");
  expect(localStorage.getItem("acpd.share-key.0123456789abcdef")).toBe("made");
  expect(sent.some(({ key }) => key === "own")).toBe(false);
  // Another tab, or a reload.
  sent = [];
  expect((await openShare({ id: link.id }))?.share?.id).toBe(link.id);
  expect(sent).toEqual([{ method: "GET", key: "made" }]);
});

test("a link that has ended leaves no key, and is no mistyped token", async () => {
  localStorage.setItem("acpd.share-key.0123456789abcdef", "old");
  const ended = { id: "0123456789abcdef", secret: "acpd_share_0123456789abcdef_00" };
  expect(await openShare(ended)).toBeUndefined();
  expect(localStorage.getItem("acpd.share-key.0123456789abcdef")).toBeNull();
  await expect(openShare({ id: ended.id })).rejects.toThrow("Open the link again");
});
