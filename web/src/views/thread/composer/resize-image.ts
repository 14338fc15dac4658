// Pictures that are too large for a message, made smaller in the page: it decodes, scales and encodes them itself, with
// nothing that the page's policy would have to let in. What moves is left alone: one picture of it would be another thing.

/** The long edge of what is made, in pixels, the largest first: more than the first is more than models look at. */
const EDGES = [2_576, 2_048, 1_568, 1_092];
const QUALITY = 0.85;
/** Bytes of a file that is decoded at all. */
const MOST = 100 << 20;
/** Bytes of a file in which it says whether it moves. */
const HEAD = 64 << 10;

export interface ResizedImage {
  blob: Blob;
  /** What was done: "4000 × 3000 → 2576 × 1932". */
  said: string;
}

/** The largest picture that fits; nothing if none does, or if it is not to be made smaller. */
export async function resizeImage(file: File, fits: (blob: Blob) => boolean): Promise<ResizedImage | undefined> {
  if (file.size > MOST || moves(new Uint8Array(await file.slice(0, HEAD).arrayBuffer()), file.type)) return undefined;
  const picture = await createImageBitmap(file);
  const { width, height } = picture;
  const canvas = document.createElement("canvas");
  try {
    for (const [index, edge] of EDGES.entries()) {
      const scale = Math.min(1, edge / Math.max(width, height));
      // It was tried as large as it is.
      if (index > 0 && scale === 1) continue;
      canvas.width = Math.max(1, Math.round(width * scale));
      canvas.height = Math.max(1, Math.round(height * scale));
      const blob = await drawn(canvas, picture, file.type, fits);
      if (blob !== undefined) return { blob, said: said([width, height], [canvas.width, canvas.height], blob) };
    }
    return undefined;
  } finally {
    picture.close();
    // Its memory is given back at once, and not when somebody collects it.
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
    // A JPEG is not seen through; without this, it would be black there.
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

/** Whether it is a moving picture, by how it begins. */
function moves(head: Uint8Array, type: string): boolean {
  if (type === "image/gif") return true;
  const view = new DataView(head.buffer);
  const name = (at: number) => String.fromCharCode(...head.subarray(at, at + 4));
  if (type === "image/webp") return name(12) === "VP8X" && (head[20]! & 0b10) !== 0;
  if (type !== "image/png") return false;
  // Chunks: length, name, data, check. What moves says so before its first data.
  for (let at = 8; at + 8 <= head.length && name(at + 4) !== "IDAT"; at += 12 + view.getUint32(at)) {
    if (name(at + 4) === "acTL") return true;
  }
  return false;
}
