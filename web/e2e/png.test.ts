/** The pictures of the documents with 256 colours: none is far from the colour that it stands for. */

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { deflateSync } from "node:zlib";

import { expect, test } from "vitest";

import { pixels, withFewColours } from "./support/png.ts";

const DESKTOP = fileURLToPath(new URL("../../docs/images/desktop.png", import.meta.url));

/** Returns a PNG of true colours, whose lines have the filters 0 to 4 in turn. */
function png(width: number, height: number, colour: (x: number, y: number) => [number, number, number]): Buffer {
  const chunk = (type: string, content: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(content.length);
    return Buffer.concat([length, Buffer.from(type), content, Buffer.alloc(4)]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8);
  const at = (x: number, y: number, channel: number) => (x < 0 || y < 0 ? 0 : (colour(x, y)[channel] ?? 0));
  const lines: number[] = [];
  for (let y = 0; y < height; y++) {
    lines.push(y % 5);
    for (let x = 0; x < width; x++) {
      for (const channel of [0, 1, 2]) {
        const [left, above, corner] = [at(x - 1, y, channel), at(x, y - 1, channel), at(x - 1, y - 1, channel)];
        const guess = left + above - corner;
        const byDistance = [left, above, corner].sort((a, b) => Math.abs(guess - a) - Math.abs(guess - b));
        const filters = [0, left, above, Math.floor((left + above) / 2), byDistance[0] ?? 0];
        lines.push((at(x, y, channel) - (filters[y % 5] ?? 0)) & 255);
      }
    }
  }
  const parts = [chunk("IHDR", header), chunk("IDAT", deflateSync(Buffer.from(lines))), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([Buffer.alloc(8), ...parts]);
}

test("a picture of few colours keeps them all", () => {
  const original = png(40, 12, (x, y) => [(x * 6) & 255, y * 20, (x + y) % 2 === 0 ? 255 : 0].map((part) => part & 0xe0) as [number, number, number]);
  const read = pixels(original);
  expect([read.width, read.height, ...read.bytes.subarray(0, 6)]).toEqual([40, 12, 0, 0, 224, 0, 0, 0]);
  const small = withFewColours(original);
  expect(pixels(small)).toEqual(read);
  expect(pixels(withFewColours(small))).toEqual(read);
});

test("colours beyond 256 become near ones", () => {
  const original = png(64, 64, (x, y) => [x * 4, y * 4, 128]);
  const [before, after] = [pixels(original).bytes, pixels(withFewColours(original)).bytes];
  const distances = before.map((part, at) => Math.abs(part - (after[at] ?? 0)));
  expect(Math.max(...distances)).toBeLessThanOrEqual(16);
  expect(new Set(after.filter((_, at) => at % 3 === 0)).size).toBeGreaterThan(8);
});

test("the pictures of the documents have few colours", async () => {
  const stored = await readFile(DESKTOP);
  expect(stored[25]).toBe(3);
  expect(pixels(stored)).toMatchObject({ width: 1280, height: 900 });
});
