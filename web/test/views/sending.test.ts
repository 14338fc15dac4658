import { expect, test, vi } from "vitest";

import { leave } from "../../src/connection/connection.ts";
import { isSending, whileSending } from "../../src/views/thread/composer/sending.ts";

/** A promise that the test resolves. */
function later(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((over) => (resolve = over));
  return { promise, resolve };
}

test("a message that ends after its user has signed out does not release that of the next one", async () => {
  vi.stubGlobal("fetch", async () => new Response(null, { status: 204 }));
  const [first, second] = [later(), later()];
  const one = whileSending("new", () => first.promise);
  await leave();
  expect(isSending("new")).toBe(false);
  const other = whileSending("new", () => second.promise);
  first.resolve();
  await one;
  expect(isSending("new")).toBe(true);
  second.resolve();
  await other;
  await vi.waitFor(() => expect(isSending("new")).toBe(false));
});
