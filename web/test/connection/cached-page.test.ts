/** A page that the service worker had stored, once the daemon responds: it may be newer than the page. */

import { afterEach, expect, test, vi } from "vitest";

import { begin, client, standing } from "../../src/connection/connection.ts";

const reload = vi.spyOn(location, "reload").mockImplementation(() => {});

afterEach(() => {
  vi.unstubAllGlobals();
  delete document.documentElement.dataset.cached;
  standing.value = { name: "looking" };
  reload.mockClear();
});

const responds = (status: number, body: object = {}) =>
  vi.stubGlobal("fetch", async () => Response.json(body, { status }));

test.each([
  ["a session", 200, { principal: "owner", role: "owner" }],
  ["no session", 401, {}],
] as const)("it loads itself again before it shows anything: %s", async (_, status, body) => {
  document.documentElement.dataset.cached = "";
  responds(status, body);
  await begin();
  expect(reload).toHaveBeenCalledOnce();
  expect(standing.value).toEqual({ name: "looking" });
  expect(client.value).toBeUndefined();
});

test("a page of the daemon itself shows the sign-in form", async () => {
  responds(401);
  await begin();
  expect(reload).not.toHaveBeenCalled();
  expect(standing.value).toEqual({ name: "out" });
});
