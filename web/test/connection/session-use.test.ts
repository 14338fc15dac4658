/** A page that stays open and connected: the daemon ends a session that no request uses. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";

vi.useFakeTimers();
// A connection that stays as it is.
vi.mock("@acpd/client", () => ({ connect: () => ({ state: { name: "open" }, onState: () => {}, close: () => {} }) }));
vi.mock("../../src/connection/questions.ts", () => ({ holdQuestions: () => {} }));
const { begin, client, standing } = await import("../../src/connection/connection.ts");

const HOUR = 3_600_000;

let status: number;
let requests: number;

beforeEach(async () => {
  status = 200;
  vi.stubGlobal("fetch", async () => {
    requests += 1;
    return Response.json({ principal: "owner", role: "owner" }, { status });
  });
  await begin();
  requests = 0;
});

afterEach(() => {
  client.value = undefined;
  vi.unstubAllGlobals();
});

const isVisible = (visible: boolean) => {
  vi.spyOn(document, "visibilityState", "get").mockReturnValue(visible ? "visible" : "hidden");
  document.dispatchEvent(new Event("visibilitychange"));
};

test("a page that is looked at uses its session once an hour", async () => {
  isVisible(true);
  await vi.advanceTimersByTimeAsync(3 * HOUR);
  expect(requests).toBe(3);
  isVisible(false);
  await vi.advanceTimersByTimeAsync(5 * HOUR);
  expect(requests).toBe(3);
  isVisible(true);
  isVisible(true);
  expect(requests).toBe(4);
});

test("a session that has ended meanwhile shows the sign-in form", async () => {
  isVisible(true);
  status = 401;
  await vi.advanceTimersByTimeAsync(HOUR);
  expect(requests).toBe(1);
  expect(standing.value).toMatchObject({ name: "out", why: "Your session has ended. Sign in again." });
  await vi.advanceTimersByTimeAsync(5 * HOUR);
  expect(requests).toBe(1);
});
