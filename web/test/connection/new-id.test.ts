/** Ids, also where the page is not served over https. */

import { afterEach, expect, test, vi } from "vitest";

import { newId } from "../../src/connection/new-id.ts";

afterEach(() => void vi.unstubAllGlobals());

const V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test("an id is new each time", () => {
  expect(newId()).toMatch(V4);
  expect(newId()).not.toBe(newId());
});

test("also without randomUUID, which pages over plain http do not have", () => {
  const { crypto } = globalThis;
  vi.stubGlobal("crypto", { getRandomValues: (bytes: Uint8Array<ArrayBuffer>) => crypto.getRandomValues(bytes) });
  expect(newId()).toMatch(V4);
  expect(newId()).not.toBe(newId());
});
