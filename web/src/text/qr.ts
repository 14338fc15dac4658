/**
 * QR codes for short texts: byte mode, error correction level M, versions 1 to 10 (ISO/IEC 18004). Returns the modules,
 * row by row.
 */

/** For each version: error-correction codewords per block, and the data codewords of each block. */
const BLOCKS: readonly (readonly [ecc: number, blocks: readonly number[]])[] = [
  [10, [16]],
  [16, [28]],
  [26, [44]],
  [18, [32, 32]],
  [24, [43, 43]],
  [16, [27, 27, 27, 27]],
  [18, [31, 31, 31, 31]],
  [22, [38, 38, 39, 39]],
  [22, [36, 36, 36, 37, 37]],
  [26, [43, 43, 43, 43, 44]],
];

/** For each version: the centres of the alignment patterns. */
const ALIGNMENT: readonly (readonly number[])[] = [
  [],
  [6, 18],
  [6, 22],
  [6, 26],
  [6, 30],
  [6, 34],
  [6, 22, 38],
  [6, 24, 42],
  [6, 26, 46],
  [6, 28, 50],
];

const MASKS: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

type Modules = boolean[][];

/** Encodes a text. Throws if it is too long (213 bytes). */
export function encodeQr(text: string): boolean[][] {
  const bytes = new TextEncoder().encode(text);
  const version = BLOCKS.findIndex(([, blocks], index) => headerBits(index + 1) + 8 * bytes.length <= 8 * sum(blocks)) + 1;
  if (version === 0) {
    throw new Error(`${bytes.length} bytes are too long for a QR code`);
  }
  const bits = withErrorCorrection(dataOf(bytes, version), version);
  const candidates = MASKS.map((_, mask) => draw(bits, version, mask));
  return candidates.reduce((best, next) => (penalty(next) < penalty(best) ? next : best));
}

/** Returns the dark modules as an SVG path. */
export function pathOfQr(modules: readonly (readonly boolean[])[]): string {
  return modules.flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : []))).join("");
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/** Size of the mode and the length before the data, in bits. */
const headerBits = (version: number): number => 4 + (version < 10 ? 8 : 16);

/** Returns the data codewords. */
function dataOf(bytes: Uint8Array, version: number): number[] {
  const capacity = sum(BLOCKS[version - 1]![1]);
  const bits: number[] = [];
  const push = (value: number, length: number) => {
    for (let bit = length - 1; bit >= 0; bit--) {
      bits.push((value >> bit) & 1);
    }
  };
  push(0b0100, 4);
  push(bytes.length, headerBits(version) - 4);
  bytes.forEach((byte) => push(byte, 8));
  push(0, Math.min(4, 8 * capacity - bits.length));
  push(0, (8 - (bits.length % 8)) % 8);
  const words = Array.from({ length: bits.length / 8 }, (_, at) => Number.parseInt(bits.slice(8 * at, 8 * at + 8).join(""), 2));
  for (let pad = 0xec; words.length < capacity; pad ^= 0xec ^ 0x11) {
    words.push(pad);
  }
  return words;
}

/** Splits the data into blocks, adds their error correction, and interleaves them. Returns bits. */
function withErrorCorrection(data: readonly number[], version: number): number[] {
  const [ecc, sizes] = BLOCKS[version - 1]!;
  let from = 0;
  const blocks = sizes.map((size) => data.slice(from, (from += size)));
  const corrections = blocks.map((block) => remainder(block, ecc));
  const words: number[] = [];
  for (const lists of [blocks, corrections]) {
    for (let at = 0; at < Math.max(...lists.map(({ length }) => length)); at++) {
      words.push(...lists.flatMap((list) => (at < list.length ? [list[at]!] : [])));
    }
  }
  return words.flatMap((word) => Array.from({ length: 8 }, (_, bit) => (word >> (7 - bit)) & 1));
}

/** Multiplies in the field of 256 elements. */
function multiply(one: number, other: number): number {
  let product = 0;
  for (let bit = 7; bit >= 0; bit--) {
    product = (product << 1) ^ ((product >> 7) * 0x11d);
    product ^= ((other >> bit) & 1) * one;
  }
  return product & 0xff;
}

/** Returns the remainder of a polynomial, divided by the generator of a degree. */
function remainder(block: readonly number[], degree: number): number[] {
  const generator = Array<number>(degree).fill(0);
  generator[degree - 1] = 1;
  for (let power = 0, root = 1; power < degree; power++, root = multiply(root, 2)) {
    for (let at = 0; at < degree; at++) {
      generator[at] = multiply(generator[at]!, root) ^ (generator[at + 1] ?? 0);
    }
  }
  const rest = Array<number>(degree).fill(0);
  for (const word of block) {
    const factor = word ^ rest.shift()!;
    rest.push(0);
    generator.forEach((coefficient, at) => (rest[at]! ^= multiply(coefficient, factor)));
  }
  return rest;
}

function draw(bits: readonly number[], version: number, mask: number): Modules {
  const size = 17 + 4 * version;
  const modules: Modules = Array.from({ length: size }, () => Array<boolean>(size).fill(false));
  const fixed: Modules = modules.map((row) => [...row]);
  const set = (x: number, y: number, dark: boolean) => {
    modules[y]![x] = dark;
    fixed[y]![x] = true;
  };
  drawPatterns(set, version, size);
  drawFormat(set, mask, size);
  drawVersion(set, version, size);
  let at = 0;
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) {
      right = 5;
    }
    const upward = ((right + 1) & 2) === 0;
    for (let step = 0; step < size; step++) {
      const y = upward ? size - 1 - step : step;
      for (const x of [right, right - 1]) {
        if (!fixed[y]![x]) {
          modules[y]![x] = (bits[at++] === 1) !== MASKS[mask]!(x, y);
        }
      }
    }
  }
  return modules;
}

type Set = (x: number, y: number, dark: boolean) => void;

/** Draws the timing, finder and alignment patterns. */
function drawPatterns(set: Set, version: number, size: number): void {
  for (let at = 0; at < size; at++) {
    set(6, at, at % 2 === 0);
    set(at, 6, at % 2 === 0);
  }
  for (const [cx, cy] of [[3, 3], [size - 4, 3], [3, size - 4]] as const) {
    for (let dy = -4; dy <= 4; dy++) {
      for (let dx = -4; dx <= 4; dx++) {
        const [x, y, distance] = [cx + dx, cy + dy, Math.max(Math.abs(dx), Math.abs(dy))];
        if (x >= 0 && x < size && y >= 0 && y < size) {
          set(x, y, distance !== 2 && distance !== 4);
        }
      }
    }
  }
  const centres = ALIGNMENT[version - 1]!;
  const last = centres.at(-1);
  for (const cx of centres) {
    for (const cy of centres) {
      if ((cx === 6 && (cy === 6 || cy === last)) || (cx === last && cy === 6)) {
        continue;
      }
      for (let dy = -2; dy <= 2; dy++) {
        for (let dx = -2; dx <= 2; dx++) {
          set(cx + dx, cy + dy, Math.max(Math.abs(dx), Math.abs(dy)) !== 1);
        }
      }
    }
  }
}

/** Draws both copies of the level (M, whose number is 0) and the mask. */
function drawFormat(set: Set, mask: number, size: number): void {
  let rest = mask;
  for (let step = 0; step < 10; step++) {
    rest = (rest << 1) ^ ((rest >> 9) * 0x537);
  }
  const bits = ((mask << 10) | rest) ^ 0x5412;
  const bit = (at: number) => ((bits >> at) & 1) === 1;
  for (let at = 0; at < 6; at++) {
    set(8, at, bit(at));
  }
  set(8, 7, bit(6));
  set(8, 8, bit(7));
  set(7, 8, bit(8));
  for (let at = 9; at < 15; at++) {
    set(14 - at, 8, bit(at));
  }
  for (let at = 0; at < 8; at++) {
    set(size - 1 - at, 8, bit(at));
  }
  for (let at = 8; at < 15; at++) {
    set(8, size - 15 + at, bit(at));
  }
  set(8, size - 8, true);
}

/** Draws both copies of the version, from version 7 on. */
function drawVersion(set: Set, version: number, size: number): void {
  if (version < 7) {
    return;
  }
  let rest = version;
  for (let step = 0; step < 12; step++) {
    rest = (rest << 1) ^ ((rest >> 11) * 0x1f25);
  }
  const bits = (version << 12) | rest;
  for (let at = 0; at < 18; at++) {
    const dark = ((bits >> at) & 1) === 1;
    const [near, far] = [Math.floor(at / 3), size - 11 + (at % 3)];
    set(far, near, dark);
    set(near, far, dark);
  }
}

/** Rates how hard a code is to read: runs, blocks, patterns like finders, and imbalance. */
function penalty(modules: Modules): number {
  const size = modules.length;
  const lines = [...modules, ...modules.map((_, x) => modules.map((row) => row[x]!))];
  let points = 0;
  for (const line of lines) {
    const text = line.map((dark) => (dark ? "1" : "0")).join("");
    for (const run of text.match(/0{5,}|1{5,}/g) ?? []) {
      points += run.length - 2;
    }
    points += 40 * (text.match(/(?=10111010000|00001011101)/g)?.length ?? 0);
  }
  for (let y = 0; y + 1 < size; y++) {
    for (let x = 0; x + 1 < size; x++) {
      const dark = modules[y]![x];
      if (dark === modules[y]![x + 1] && dark === modules[y + 1]![x] && dark === modules[y + 1]![x + 1]) {
        points += 3;
      }
    }
  }
  const dark = sum(modules.map((row) => row.filter(Boolean).length));
  return points + 10 * Math.floor(Math.abs((20 * dark) / size ** 2 - 10));
}
