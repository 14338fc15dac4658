import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { attach } from "./read-file.ts";

const ALL = { image: true, audio: true, embeddedContext: true };
/** Maximum size of a message, in bytes. */
const ROOM = 200_000;

/** A fake browser: the size of an image, and the size of each encoding. */
const browser = {
  picture: { width: 4_000, height: 3_000 },
  alpha: 255,
  bytes: (_type: string, width: number): number => width * 50,
  made: [] as string[],
};

beforeEach(() => {
  Object.assign(browser, { picture: { width: 4_000, height: 3_000 }, alpha: 255, bytes: (_: string, width: number) => width * 50, made: [] });
  vi.stubGlobal("createImageBitmap", async () => ({ ...browser.picture, close: () => {} }));
  const context = {
    drawImage: () => {},
    fillRect: () => {},
    getImageData: () => ({ data: new Uint8ClampedArray([0, 0, 0, browser.alpha]) }),
  };
  vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockReturnValue(context as never);
  vi.spyOn(HTMLCanvasElement.prototype, "toBlob").mockImplementation(function (this: HTMLCanvasElement, done, type = "", quality) {
    browser.made.push(`${type} ${this.width} × ${this.height} ${quality}`);
    done(new Blob([new Uint8Array(browser.bytes(type, this.width))], { type }));
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

/** Returns a file with this header that is too large for the message. */
const large = (type: string, ...head: (string | number[])[]): File => {
  const parts = head.map((part) => (typeof part === "string" ? part : new Uint8Array(part)));
  return new File([...parts, new Uint8Array(ROOM)], "shot", { type });
};
const taken = async (file: File, room = ROOM) => {
  const result = await attach(file, ALL, room);
  return "refused" in result ? result.refused : "large" in result ? result.large : result.attachment;
};
const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const chunk = (name: string): (string | number[])[] => [[0, 0, 0, 2], name, [1, 2], [0, 0, 0, 0]];

test("a picture that has no room is sent as a JPEG, 2576 pixels long at most", async () => {
  const attachment = await taken(large("image/png", PNG, ...chunk("IHDR"), ...chunk("IDAT")));
  expect(attachment).toMatchObject({ name: "shot", block: { type: "image", mimeType: "image/jpeg" }, shrunk: "4000 × 3000 → 2576 × 1932" });
  expect(browser.made).toEqual(["image/jpeg 2576 × 1932 0.85"]);
  const { size, block } = attachment as { size: number; block: unknown };
  expect(size).toBe(JSON.stringify(block).length);
  expect(size).toBeLessThanOrEqual(ROOM);
});

test("where that has no room either, it becomes smaller still, and in the end is refused", async () => {
  const file = large("image/jpeg");
  browser.bytes = (_, width) => width * 70;
  expect(await taken(file)).toMatchObject({ shrunk: "4000 × 3000 → 2048 × 1536" });
  browser.bytes = () => ROOM;
  browser.made = [];
  expect(await taken(file)).toBe("shot is too large: 267 kB, and this message has room for 200 kB.");
  expect(browser.made).toHaveLength(4);
});

test("one that is not long keeps its measures, and is not made the same twice", async () => {
  browser.picture = { width: 1_600, height: 900 };
  expect(await taken(large("image/png"))).toMatchObject({ shrunk: "1600 × 900 as JPEG" });
  browser.bytes = (_, width) => (width === 1_092 ? 1_000 : ROOM);
  browser.made = [];
  expect(await taken(large("image/png"))).toMatchObject({ shrunk: "1600 × 900 → 1092 × 614" });
  expect(browser.made.map((made) => made.split(" ")[1])).toEqual(["1600", "1568", "1092"]);
});

test("what is seen through stays a PNG if that fits", async () => {
  browser.alpha = 254;
  expect(await taken(large("image/png"))).toMatchObject({ block: { mimeType: "image/png" } });
  browser.bytes = (type) => (type === "image/png" ? ROOM : 1_000);
  expect(await taken(large("image/webp"))).toMatchObject({ block: { mimeType: "image/jpeg" } });
});

test.each([
  ["GIF", large("image/gif")],
  ["PNG", large("image/png", PNG, ...chunk("IHDR"), ...chunk("acTL"), ...chunk("IDAT"))],
  ["WebP", large("image/webp", "RIFF....WEBPVP8X....", [0b10])],
])("what moves is not made to stand still: %s", async (_, file) => {
  expect(await taken(file)).toContain("is too large");
  expect(browser.made).toEqual([]);
});

test("a picture that has room stays as it is, and so does what is none", async () => {
  const [small, text] = [new File(["x"], "a.png", { type: "image/png" }), large("text/plain")];
  expect(await taken(small)).toEqual({ name: "a.png", block: { type: "image", mimeType: "image/png", data: "eA==" }, size: 53, fileSize: 1 });
  expect(await taken(text, 10)).toContain("is too large");
  expect(browser.made).toEqual([]);
});

test("what the browser cannot decode is refused as too large", async () => {
  vi.stubGlobal("createImageBitmap", () => Promise.reject(new DOMException("no")));
  expect(await taken(large("image/png"))).toContain("is too large");
});
