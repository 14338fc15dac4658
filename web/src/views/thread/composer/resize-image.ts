// Resizes images that are too large for a message. The page decodes, scales and encodes them itself, which requires no
// exception in its content security policy. Animated images stay unchanged: a single frame would be a different image.

/** Long edges of the results in pixels, largest first. Models do not use more than the first. */
const EDGES = [2_576, 2_048, 1_568, 1_092];
const QUALITY = 0.85;
/** Maximum size of a decoded file, in bytes. */
const MOST = 100 << 20;
/** Length of the header that shows whether an image is animated, in bytes. */
const HEAD = 64 << 10;

export interface ResizedImage {
  blob: Blob;
  /** A description of the change: "4000 × 3000 → 2576 × 1932". */
  said: string;
}

/** Returns the largest version that fits; `undefined` if there is none, or if the image must not be resized. */
export async function resizeImage(file: File, fits: (blob: Blob) => boolean): Promise<ResizedImage | undefined> {
  if (file.size > MOST || moves(new Uint8Array(await file.slice(0, HEAD).arrayBuffer()), file.type)) return undefined;
  const picture = await createImageBitmap(file);
  const { width, height } = picture;
  const canvas = document.createElement("canvas");
  try {
    for (const [index, edge] of EDGES.entries()) {
      const scale = Math.min(1, edge / Math.max(width, height));
      // The original size has already been tried.
      if (index > 0 && scale === 1) continue;
      canvas.width = Math.max(1, Math.round(width * scale));
      canvas.height = Math.max(1, Math.round(height * scale));
      const blob = await drawn(canvas, picture, file.type, fits);
      if (blob !== undefined) return { blob, said: said([width, height], [canvas.width, canvas.height], blob) };
    }
    return undefined;
  } finally {
    picture.close();
    // Frees the memory now, without waiting for garbage collection.
    canvas.width = canvas.height = 0;
  }
}

async function drawn(
  canvas: HTMLCanvasElement,
  picture: ImageBitmap,
  type: string,
  fits: (blob: Blob) => boolean,
): Promise<Blob | undefined> {
  const { width, height } = canvas;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (context === null) return undefined;
  context.imageSmoothingQuality = "high";
  context.drawImage(picture, 0, 0, width, height);
  if (type !== "image/jpeg" && seenThrough(context.getImageData(0, 0, width, height).data)) {
    const blob = await encoded(canvas, "image/png");
    if (blob !== undefined && fits(blob)) return blob;
    // A JPEG has no transparency; without a background it would be black there.
    context.globalCompositeOperation = "destination-over";
    context.fillStyle = "#fff";
    context.fillRect(0, 0, width, height);
  }
  const blob = await encoded(canvas, "image/jpeg");
  return blob !== undefined && fits(blob) ? blob : undefined;
}

function encoded(canvas: HTMLCanvasElement, type: string): Promise<Blob | undefined> {
  return new Promise((resolve) => canvas.toBlob((blob) => resolve(blob ?? undefined), type, QUALITY));
}

function seenThrough(pixels: Uint8ClampedArray): boolean {
  for (let at = 3; at < pixels.length; at += 4) if (pixels[at] !== 255) return true;
  return false;
}

function said(from: readonly [number, number], to: readonly [number, number], { type }: Blob): string {
  const [before, after] = [from.join(" × "), to.join(" × ")];
  return before === after ? `${before} as ${type === "image/png" ? "PNG" : "JPEG"}` : `${before} → ${after}`;
}

/** Returns whether an image is animated, by its header. */
function moves(head: Uint8Array, type: string): boolean {
  if (type === "image/gif") return true;
  const view = new DataView(head.buffer);
  const name = (at: number) => String.fromCharCode(...head.subarray(at, at + 4));
  if (type === "image/webp") return name(12) === "VP8X" && (head[20]! & 0b10) !== 0;
  if (type !== "image/png") return false;
  // Chunks: length, name, data, checksum. An animation is declared before the first image data.
  for (let at = 8; at + 8 <= head.length && name(at + 4) !== "IDAT"; at += 12 + view.getUint32(at)) {
    if (name(at + 4) === "acTL") return true;
  }
  return false;
}
