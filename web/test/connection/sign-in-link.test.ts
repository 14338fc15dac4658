/** Sign-in links in a tab that shows acpd already, and while the browser has a session. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";

vi.mock("@acpd/client", () => ({ connect: () => ({ state: { name: "open" }, onState: () => {}, close: () => {} }) }));
vi.mock("../../src/connection/questions.ts", () => ({ holdQuestions: () => {} }));
const { begin, client, linkNote, standing } = await import("../../src/connection/connection.ts");

const reload = vi.spyOn(location, "reload").mockImplementation(() => {});

/** The principals of the tickets that the daemon accepts. */
let tickets: Record<string, string>;
/** The principals of the sessions, by page key. */
let sessions: Record<string, string>;

beforeEach(() => {
  [tickets, sessions] = [{ new: "phone" }, { own: "owner" }];
  localStorage.clear();
  standing.value = { name: "looking" };
  linkNote.value = undefined;
  vi.stubGlobal("fetch", async (_: string, init: RequestInit = {}) => {
    if (init.method === "POST") {
      const { ticket } = JSON.parse(String(init.body)) as { ticket: string };
      const principal = tickets[ticket];
      return principal === undefined
        ? Response.json({}, { status: 401 })
        : Response.json({ principal, role: "approver", pageKey: principal });
    }
    const principal = sessions[new Headers(init.headers).get("acpd-page-key") ?? ""];
    return principal === undefined ? Response.json({}, { status: 401 }) : Response.json({ principal, role: "owner" });
  });
});
afterEach(() => {
  client.value = undefined;
  reload.mockClear();
  vi.unstubAllGlobals();
  history.replaceState(null, "", "/");
});

const isIn = (principal: string) => expect(standing.value).toMatchObject({ name: "in", session: { principal } });

test.each(["#ticket=new", "#token=x", "#share=x"])("a link that only changes the end of the address begins again: %s", (hash) => {
  history.replaceState(null, "", `/${hash}`);
  dispatchEvent(new HashChangeEvent("hashchange"));
  expect(reload).toHaveBeenCalledOnce();
});

test("another end of the address is none", () => {
  for (const hash of ["", "#item-5", "#myticket=1", "#tickets"]) {
    history.replaceState(null, "", `/${hash}`);
    dispatchEvent(new HashChangeEvent("hashchange"));
  }
  expect(reload).not.toHaveBeenCalled();
});

test("a link replaces the session of another user, and says so", async () => {
  localStorage.setItem("acpd.page-key", "own");
  history.replaceState(null, "", "/#ticket=new");
  await begin();
  isIn("phone");
  expect(location.hash).toBe("");
  expect(linkNote.value).toEqual({ text: "This browser is now signed in as phone, no longer as owner.", kind: "info" });
});

test("a link that has ended leaves the session as it is", async () => {
  localStorage.setItem("acpd.page-key", "own");
  history.replaceState(null, "", "/#ticket=old");
  await begin();
  isIn("owner");
  expect(localStorage.getItem("acpd.page-key")).toBe("own");
  expect(linkNote.value).toMatchObject({ kind: "error", text: expect.stringMatching(/expired or was already used.* still signed in as owner\.$/) });
});

test("without a session, nothing is noted", async () => {
  history.replaceState(null, "", "/#ticket=new");
  await begin();
  isIn("phone");
  history.replaceState(null, "", "/#ticket=old");
  localStorage.clear();
  await begin();
  expect(standing.value).toMatchObject({ name: "out", why: expect.stringContaining("expired or was already used") });
  expect(linkNote.value).toBeUndefined();
});
