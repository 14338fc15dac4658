import { afterEach, expect, test, vi } from "vitest";

import type { SignedInDevice } from "../../connection/devices-api.ts";
import { after, drawn, type } from "../testing.ts";
import { Devices, nameOfDevice } from "./Devices.tsx";
import { PairDevice, rolesUpTo } from "./PairDevice.tsx";

afterEach(() => vi.unstubAllGlobals());

const settle = () => after(() => new Promise((done) => setTimeout(done)));

function device(id: string, more: Partial<SignedInDevice> = {}): SignedInDevice {
  const times = { createdAt: 1_000, usedAt: 2_000, expiresAt: 3_000 };
  return { id, principal: "owner", role: "owner", isPaired: false, isCurrent: false, hasPush: false, ...times, ...more };
}

/** Answers requests as the daemon with these devices; returns the requests. */
function daemon(devices: SignedInDevice[], mayPair = true) {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (path: string, { method, body }: RequestInit) => {
    asked.push(`${method} ${path} ${body ?? ""}`.trim());
    const given = body === undefined ? {} : (JSON.parse(body as string) as { id?: string; name?: string });
    if (method === "DELETE") devices.splice(0, devices.length, ...devices.filter(({ id }) => id !== given.id));
    if (method === "PUT") Object.assign(devices.find(({ id }) => id === given.id)!, { name: given.name });
    return method === "GET" ? Response.json({ devices, mayPair }) : new Response(null, { status: 204 });
  });
  return asked;
}

test("a device is named and removed after a question, and this one has no button to remove it", async () => {
  const asked = daemon([
    device("1", { isCurrent: true, browser: "Firefox on Linux" }),
    device("2", { isPaired: true, principal: "phone", role: "approver", browser: "Chrome on Android" }),
  ]);
  const view = drawn(<Devices onPair={() => {}} />);
  await settle();
  expect(view.all(".device-words").map((line) => line.textContent)).toEqual([
    "Firefox on Linuxthis device · owner",
    expect.stringMatching(/^phonelast seen .* · Chrome on Android · approver$/),
  ]);
  expect(() => view.button("Remove Firefox")).toThrow();
  await after(() => view.button("Rename phone").click());
  await type(view.one<HTMLInputElement>("input"), " Ann ");
  await after(() => view.button("Save").click());
  await settle();
  await after(() => view.button("Remove Ann").click());
  expect(asked.filter((request) => request.startsWith("DELETE"))).toEqual([]);
  expect(view.text()).toContain("with all that it has signed in");
  await after(() => view.button("Remove Ann now").click());
  await settle();
  expect(asked).toContain('PUT /api/devices {"id":"2","name":"Ann"}');
  expect(asked).toContain('DELETE /api/devices {"id":"2"}');
  expect(view.all("li")).toHaveLength(1);
});

test("many devices are folded, and a client that may not pair has no button", async () => {
  daemon(Array.from({ length: 64 }, (_, at) => device(String(at))), false);
  const view = drawn(<Devices onPair={() => {}} />);
  await settle();
  expect(view.all("li")).toHaveLength(6);
  expect(() => view.button("Pair")).toThrow();
  await after(() => view.button("Show all 64").click());
  expect(view.all("li")).toHaveLength(64);
});

test("a list that cannot be read says why", async () => {
  vi.stubGlobal("fetch", async () => Response.json({ error: { message: "the daemon is stopping" } }, { status: 503 }));
  const view = drawn(<Devices onPair={() => {}} />);
  await settle();
  expect(view.one("[role=alert]").textContent).toBe("The daemon is stopping.");
});

test("invisible characters of names are shown", () => {
  expect(nameOfDevice(device("1", { name: "a\u202eb" }))).not.toContain("\u202e");
});

test("a code is for at most the own role, says until when it works, and ends when it is left", async () => {
  const asked: string[] = [];
  let answer: (response: Response) => void = () => {};
  vi.stubGlobal("fetch", async (path: string, { method, body }: RequestInit) => {
    asked.push(`${method} ${path} ${body}`);
    if (path.endsWith("/wait")) return new Promise<Response>((done) => (answer = done));
    return Response.json({ ticket: "ab", expiresInSecs: 600 });
  });
  const view = drawn(<PairDevice own="operator" onDone={() => {}} />);
  await settle();
  expect(view.all("option").map((option) => option.getAttribute("value"))).toEqual(["observer", "approver", "operator"]);
  expect(view.one("[role=status]").textContent).toMatch(/It works once, until \d/);
  view.one("svg.qr");
  await type(view.one<HTMLSelectElement>("select"), "observer");
  await settle();
  expect(asked).toContain('POST /api/pairings {"role":"approver"}');
  expect(asked).toContain('DELETE /api/pairings {"ticket":"ab"}');
  expect(asked).toContain('POST /api/pairings {"role":"observer"}');
  answer(Response.json({ state: "used", name: "phone" }));
  await settle();
  expect(view.one("[role=status]").textContent).toBe("Paired phone.");
  expect(view.all("svg.qr")).toHaveLength(0);
  const ended = asked.length;
  view.draw(null);
  await settle();
  expect(asked).toHaveLength(ended);
});

test("each role can give itself and those below it", () => {
  expect(rolesUpTo("observer")).toHaveLength(1);
  expect(rolesUpTo("owner")).toHaveLength(4);
});
