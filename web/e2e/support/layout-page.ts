/** Functions that run in a page: the boxes and looks of its parts, and comparing pictures. They use nothing from outside. */

export interface Part {
  /** Role and name. */
  label: string;
  /** Left, top, right and bottom edge, in pixels. */
  box: number[];
}

/** Returns the visible parts of the page that users read, press, or move between. */
export function boxesOf(): Part[] {
  const parts =
    "header, nav, main, aside, footer, section, form, dialog, h1, h2, h3, a[href], button, input, select, textarea, " +
    "summary, img, table, [role=feed], [role=article], [role=option], [role=listitem], [role=status], [role=alert]";
  const nameOf = (el: Element) => {
    const own = el.matches("main, aside, nav, section, form, dialog, [role=feed]") ? "" : (el.textContent ?? "");
    const label = el.getAttribute("aria-label") ?? (el as HTMLInputElement).labels?.[0]?.textContent ?? own;
    return label.replace(/\s+/g, " ").trim().slice(0, 40).replace(/acpd-web-\w+/g, "folder").replace(/\d+/g, "0");
  };
  return [...document.querySelectorAll(parts)].flatMap((el) => {
    const { left, top, right, bottom } = el.getBoundingClientRect();
    const isSeen =
      right - left > 1 && bottom - top > 1 && right > 0 && bottom > 0 && left < innerWidth && top < innerHeight &&
      el.checkVisibility({ visibilityProperty: true });
    const role = el.getAttribute("role") ?? el.tagName.toLowerCase();
    return isSeen ? [{ label: `${role} "${nameOf(el)}"`, box: [left, top, right, bottom].map(Math.round) }] : [];
  });
}

/** Returns one line for each kind of part that users see first: its colours, its type and its shape. */
export function looksOf(): string[] {
  const kinds = [
    "body", "aside", "aside h2", "aside a", "aside .row", "aside [aria-current]", "main", "main h1", "main h3", "main header", "[role=article] p",
    "[role=article] code", "[role=article] summary", ".th-user-text", ".th-approval", ".th-approval table td", ".pane-foot button", ".button.primary",
    ".button.danger", "textarea", "select", "input", "kbd", "mark", "svg",
  ];
  const properties = [
    "color", "background-color", "border-top-color", "border-top-width", "border-radius", "box-shadow", "font-family", "font-size", "font-weight",
    "letter-spacing", "line-height",
  ];
  return kinds.flatMap((kind) => {
    const first = [...document.querySelectorAll(kind)].find((el) => el.checkVisibility({ visibilityProperty: true, opacityProperty: true }));
    if (!first) return [];
    const style = getComputedStyle(first);
    return [`${kind} | ${properties.map((name) => `${name}: ${style.getPropertyValue(name)}`).join("; ")}`];
  });
}

/**
 * Loads the fonts that the page brings along, and returns their names. The page itself shows a text without them if they come late: here they
 * are added once more, as fonts that texts wait for.
 */
export async function loadFonts(): Promise<string[]> {
  const rules = Array.from(document.styleSheets)
    .flatMap((sheet) => Array.from(sheet.cssRules))
    .filter((rule) => rule instanceof CSSFontFaceRule);
  const faces = rules.map(({ style, parentStyleSheet }) => {
    const [, address = ""] = /url\("?([^")]+)"?\)/.exec(style.getPropertyValue("src")) ?? [];
    const descriptors: FontFaceDescriptors = { display: "block" };
    descriptors.weight = style.getPropertyValue("font-weight");
    descriptors.unicodeRange = style.getPropertyValue("unicode-range");
    descriptors.featureSettings = style.getPropertyValue("font-feature-settings") || "normal";
    const family = style.getPropertyValue("font-family").replaceAll('"', "");
    return new FontFace(family, `url("${new URL(address, parentStyleSheet?.href ?? location.href).href}")`, descriptors);
  });
  const isHere = Array.from(document.fonts).some(({ display }) => display === "block");
  if (!isHere) {
    for (const face of await Promise.all(faces.map((face) => face.load()))) {
      document.fonts.add(face);
    }
  }
  return [...new Set(faces.map(({ family }) => family.replaceAll('"', "")))].sort();
}

/** Returns a picture at a quarter of its size, both as PNG in base64. */
export async function shrink(picture: string): Promise<string> {
  const bytes = Uint8Array.from(atob(picture), (letter) => letter.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const [width, height] = [Math.floor(bitmap.width / 4), Math.floor(bitmap.height / 4)];
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d")!;
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap, 0, 0, width, height);
  // Fewer shades make smaller files.
  const image = context.getImageData(0, 0, width, height);
  for (let at = 0; at < image.data.length; at++) {
    image.data[at] = at % 4 === 3 ? 255 : Math.min(255, Math.round(image.data[at]! / 8) * 8);
  }
  context.putImageData(image, 0, 0);
  const small = new Uint8Array(await (await canvas.convertToBlob({ type: "image/png" })).arrayBuffer());
  return btoa(Array.from(small, (byte) => String.fromCharCode(byte)).join(""));
}

/**
 * Compares two small pictures by the mean colours of cells of 4×4 pixels. Returns the cells that differ, and the new
 * picture with these marked.
 */
export async function comparePictures({ stored, small }: { stored: string; small: string }): Promise<{ cells: string[]; marked: string }> {
  const CELL = 4;
  /** Maximum difference of a mean colour, of 255. */
  const BOUND = 20;
  const read = async (picture: string) => {
    const bytes = Uint8Array.from(atob(picture), (letter) => letter.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    const context = canvas.getContext("2d")!;
    context.drawImage(bitmap, 0, 0);
    return { canvas, context, image: context.getImageData(0, 0, bitmap.width, bitmap.height) };
  };
  const [before, after] = [await read(stored), await read(small)];
  const { width, height } = after.image;
  if (before.image.width !== width || before.image.height !== height) {
    return { cells: [`the size was ${before.image.width}×${before.image.height}, and is ${width}×${height}`], marked: small };
  }
  const mean = ({ image }: typeof before, x: number, y: number, colour: number) => {
    let [sum, count] = [0, 0];
    for (let row = y; row < Math.min(y + CELL, height); row++) {
      for (let column = x; column < Math.min(x + CELL, width); column++) {
        sum += image.data[(row * width + column) * 4 + colour]!;
        count += 1;
      }
    }
    return sum / count;
  };
  const cells: string[] = [];
  for (let y = 0; y < height; y += CELL) {
    for (let x = 0; x < width; x += CELL) {
      const differences = [0, 1, 2].map((colour) => Math.abs(mean(before, x, y, colour) - mean(after, x, y, colour)));
      if (Math.max(...differences) > BOUND) {
        cells.push(`the picture differs around ${x * 4 + 8}, ${y * 4 + 8} by ${Math.round(Math.max(...differences))}`);
        after.context.strokeStyle = "red";
        after.context.strokeRect(x, y, CELL, CELL);
      }
    }
  }
  const marked = new Uint8Array(await (await after.canvas.convertToBlob({ type: "image/png" })).arrayBuffer());
  return { cells, marked: btoa(Array.from(marked, (byte) => String.fromCharCode(byte)).join("")) };
}
