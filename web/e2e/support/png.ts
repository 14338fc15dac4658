/**
 * Pictures of the page as small files. A screenshot has millions of colours to choose from and uses some thousands, almost all of them at the
 * edges of letters. With 256 colours, of which one is close to each of the others, no difference is visible, and the file has a third of the
 * bytes. Each file of the documents is part of the daemon's binary.
 */

import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Colours of a picture whose pixels have a byte each. */
const COLOURS = 256;
/** The type of the colours of a screenshot, three bytes a pixel, and of those that are numbers of colours. */
const TRUE_COLOUR = 2;
const PALETTE = 3;

/** The pixels of a picture, three bytes each. */
export interface Pixels {
  width: number;
  height: number;
  bytes: Uint8Array;
}

/** Returns a screenshot with at most 256 colours. */
export function withFewColours(png: Uint8Array): Buffer {
  const { width, height, bytes } = pixels(png);
  const counts = new Map<number, number>();
  for (let at = 0; at < bytes.length; at += 3) {
    const colour = colourAt(bytes, at);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const groups = grouped([...counts].map(([colour, count]) => ({ colour, count })));
  const numbers = new Map(groups.flatMap((group, number) => group.map(({ colour }) => [colour, number] as const)));
  const lines = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      lines[y * (width + 1) + 1 + x] = numbers.get(colourAt(bytes, (y * width + x) * 3)) ?? 0;
    }
  }
  const palette = Buffer.from(groups.map(mostUsed).flatMap((colour) => [0, 1, 2].map((channel) => part(colour, channel))));
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, PALETTE], 8);
  const parts = [chunk("IHDR", header), chunk("PLTE", palette), chunk("IDAT", deflateSync(lines, { level: 9, memLevel: 9 }))];
  return Buffer.concat([SIGNATURE, ...parts, chunk("IEND", Buffer.alloc(0))]);
}

/** Reads a picture as Chromium and {@link withFewColours} write it: 8 bits, not interlaced. */
export function pixels(png: Uint8Array): Pixels {
  const file = Buffer.from(png);
  const data: Buffer[] = [];
  let header = Buffer.alloc(13);
  let palette = Buffer.alloc(0);
  for (let at = SIGNATURE.length; at < file.length; ) {
    const length = file.readUInt32BE(at);
    const content = file.subarray(at + 8, at + 8 + length);
    const type = file.toString("latin1", at + 4, at + 8);
    if (type === "IHDR") header = Buffer.from(content);
    if (type === "PLTE") palette = Buffer.from(content);
    if (type === "IDAT") data.push(content);
    at += 12 + length;
  }
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const [depth, type, interlaced] = [header[8], header[9], header[12]];
  if (depth !== 8 || interlaced !== 0 || (type !== TRUE_COLOUR && type !== PALETTE)) {
    throw new Error(`a picture with ${depth} bits, colours of type ${type} and interlacing ${interlaced} cannot be read`);
  }
  const size = type === PALETTE ? 1 : 3;
  const bytes = unfiltered(inflateSync(Buffer.concat(data)), width * size, height, size);
  if (type === TRUE_COLOUR) return { width, height, bytes };
  const coloured = new Uint8Array(width * height * 3);
  bytes.forEach((number, at) => coloured.set(palette.subarray(number * 3, number * 3 + 3), at * 3));
  return { width, height, bytes: coloured };
}

interface Used {
  colour: number;
  /** Pixels of this colour. */
  count: number;
}

/** Divides colours into at most 256 groups, of which none has colours that are far apart. */
function grouped(colours: Used[]): Used[][] {
  const groups = [{ colours, ...span(colours) }];
  while (groups.length < COLOURS) {
    const widest = groups.reduce((widest, group) => (group.width > widest.width ? group : widest));
    if (widest.width === 0) break;
    const { channel, middle } = widest;
    const halves = [true, false].map((isLow) => widest.colours.filter(({ colour }) => part(colour, channel) <= middle === isLow));
    groups.splice(groups.indexOf(widest), 1, ...halves.map((half) => ({ colours: half, ...span(half) })));
  }
  return groups.map((group) => group.colours);
}

/** Returns the channel in which colours are farthest apart, how far, and its middle. */
function span(colours: Used[]): { channel: number; width: number; middle: number } {
  let widest = { channel: 0, width: 0, middle: 0 };
  for (const channel of [0, 1, 2]) {
    let [low, high] = [255, 0];
    for (const { colour } of colours) {
      low = Math.min(low, part(colour, channel));
      high = Math.max(high, part(colour, channel));
    }
    if (high - low > widest.width) widest = { channel, width: high - low, middle: (low + high) >> 1 };
  }
  return widest;
}

function mostUsed(group: Used[]): number {
  return group.reduce((most, used) => (used.count > most.count ? used : most)).colour;
}

function colourAt(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
}

/** Returns red, green or blue of a colour: channel 0, 1 or 2. */
function part(colour: number, channel: number): number {
  return (colour >> (16 - 8 * channel)) & 255;
}

/** Undoes the filters of lines: each byte may be stored as the difference from a guess. */
function unfiltered(filtered: Uint8Array, length: number, height: number, size: number): Uint8Array {
  const bytes = new Uint8Array(length * height);
  for (let y = 0; y < height; y++) {
    const filter = filtered[y * (length + 1)];
    for (let x = 0; x < length; x++) {
      const at = y * length + x;
      const left = x < size ? 0 : (bytes[at - size] ?? 0);
      const above = y === 0 ? 0 : (bytes[at - length] ?? 0);
      const corner = x < size || y === 0 ? 0 : (bytes[at - length - size] ?? 0);
      const guesses = [0, left, above, (left + above) >> 1, nearest(left, above, corner)];
      bytes[at] = (filtered[y * (length + 1) + 1 + x] ?? 0) + (guesses[filter ?? 0] ?? 0);
    }
  }
  return bytes;
}

/** Returns which of three bytes is the nearest to left + above - corner: Paeth's guess. */
function nearest(left: number, above: number, corner: number): number {
  const guess = left + above - corner;
  const [toLeft, toAbove, toCorner] = [left, above, corner].map((byte) => Math.abs(guess - byte)) as [number, number, number];
  if (toLeft <= toAbove && toLeft <= toCorner) return left;
  return toAbove <= toCorner ? above : corner;
}

function chunk(type: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), content]);
  const whole = Buffer.alloc(named.length + 8);
  whole.writeUInt32BE(content.length, 0);
  whole.set(named, 4);
  whole.writeUInt32BE(crc32(named), named.length + 4);
  return whole;
}
