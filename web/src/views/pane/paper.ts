/** A whole thread on paper, of which the page itself renders only a part: the HTML export of the daemon, with its styles. */

import { exportPath } from "../../app/export.ts";
import { route } from "../../app/route.ts";
import { readTextNow } from "../../connection/download.ts";

/** Restores the page after printing; absent while nothing is laid out for paper. */
let restore: (() => void) | undefined;

/** Lays out the open thread for paper when the browser prints it: its menu leaves no time for other requests. */
export function listenForPrinting(): void {
  addEventListener("beforeprint", () => {
    const { value: at } = route;
    const text = restore === undefined && at.view === "thread" ? readTextNow(exportPath(at.threadId, "html")) : undefined;
    if (text !== undefined) {
      void layOut(text);
    }
  });
  addEventListener("afterprint", () => restore?.());
}

/** Shows an exported thread in place of the page, until it is printed. Resolves once its pictures can be drawn. */
export async function layOut(html: string): Promise<void> {
  restore?.();
  const place = document.createElement("div");
  place.className = "print-only";
  // The policy of the page holds for documents that it parses, and refuses their styles.
  const [style = "", css = ""] = /<style>([^]*?)<\/style>/.exec(html) ?? [];
  const page = new DOMParser().parseFromString(html.replace(style, ""), "text/html");
  place.append(...copies(page.body));
  const styles = stylesOf(css);
  document.body.append(place);
  document.body.classList.add("is-printing");
  const { dataset } = document.documentElement;
  const { theme } = dataset;
  dataset.theme = "light";
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, styles];
  restore = () => {
    restore = undefined;
    if (theme === undefined) {
      delete dataset.theme;
    } else {
      dataset.theme = theme;
    }
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== styles);
    place.remove();
    document.body.classList.remove("is-printing");
  };
  // A picture that cannot be decoded leaves its room empty, and the rest is printed.
  await Promise.allSettled([...place.querySelectorAll("img")].map((picture) => picture.decode()));
}

/** The elements of an export. Anything else of it is only text. */
const KNOWN = new Set(
  "header main section article details summary h1 h2 h3 dl dt dd p pre code strong ul li time ins del".split(" "),
);

/** The pictures of an export, which are part of it. */
const PICTURE = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$/;

/** Returns copies of an element's content: text, pictures, and known elements with nothing but their class. */
function copies(from: Element): Node[] {
  return [...from.childNodes].flatMap((node): Node[] => {
    if (!(node instanceof Element)) return node.nodeType === Node.TEXT_NODE ? [document.createTextNode(node.textContent ?? "")] : [];
    if (node.localName === "img") return pictures(node);
    if (!KNOWN.has(node.localName)) return copies(node);
    const copy = document.createElement(node.localName);
    if (node.className !== "") copy.className = node.className;
    copy.append(...copies(node));
    return [copy];
  });
}

function pictures(from: Element): Node[] {
  const src = from.getAttribute("src") ?? "";
  if (!PICTURE.test(src)) return [];
  const copy = new Image();
  copy.alt = from.getAttribute("alt") ?? "";
  // Paper is drawn once.
  copy.setAttribute("decoding", "sync");
  copy.src = src;
  return [copy];
}

/** Returns the styles of an export, which then apply to the paper alone. */
function stylesOf(css: string): CSSStyleSheet {
  const styles = new CSSStyleSheet();
  styles.replaceSync(`@scope (.print-only) { ${css} }`);
  return styles;
}
