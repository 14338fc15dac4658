// An agent's Markdown, as nodes that are safe to insert into the page.
//
// In: one block of Markdown. Out: a DocumentFragment. Never: executes, loads or styles anything. Raw HTML is shown as
// text, images as links, and links lead only to web and mail addresses. marked converts text to HTML without any safety
// guarantee; DOMPurify filters that HTML. Both always run.

import DOMPurify, { type Config } from "dompurify";
import { Marked, type Tokens } from "marked";

import { followable } from "./safe-url.ts";

const LET_IN: Config = {
  ALLOWED_TAGS: [
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "input", "li", "ol", "p",
    "pre", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
  ],
  ALLOWED_ATTR: ["align", "checked", "class", "disabled", "href", "start", "title", "type"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

const marked = new Marked({
  gfm: true,
  breaks: false,
  tokenizer: {
    // No raw HTML: an element's source becomes text. A line break is the only element that tables require.
    html: () => undefined,
    tag(source: string): Tokens.Tag | undefined {
      const lineBreak = /^<br\s*\/?>/i.exec(source)?.[0];
      if (lineBreak === undefined) return undefined;
      return { type: "html", raw: lineBreak, text: "<br>", block: false, inLink: false, inRawBlock: false };
    },
  },
  renderer: {
    // An agent's text must not load anything from elsewhere.
    image({ href, text }: Tokens.Image): string {
      const label = escape(text || href);
      return `<a href="${escape(href)}" title="${escape(href)}">${label}</a>`;
    },
    link({ href, title, tokens }: Tokens.Link): string {
      const words = this.parser.parseInline(tokens);
      return `<a href="${escape(href)}" title="${escape(title ?? href)}">${words}</a>`;
    },
  },
});

/** Renders one block. */
export function renderMarkdown(source: string): DocumentFragment {
  const html = marked.parse(source, { async: false });
  const fragment = DOMPurify.sanitize(html, LET_IN) as unknown as DocumentFragment;
  for (const link of fragment.querySelectorAll("a")) secure(link);
  for (const input of fragment.querySelectorAll("input")) settle(input);
  for (const element of fragment.querySelectorAll("[class]")) keepLanguage(element);
  for (const heading of fragment.querySelectorAll("h1, h2, h3, h4, h5, h6")) lower(heading);
  for (const block of fragment.children) block.setAttribute("dir", "auto");
  for (const cell of fragment.querySelectorAll("th, td")) cell.setAttribute("dir", "auto");
  for (const table of fragment.querySelectorAll("table")) scroll(table);
  return fragment;
}

/** Makes a link open in a new tab and send the target nothing about this page; turns a forbidden link into text. */
function secure(link: HTMLAnchorElement): void {
  const address = link.getAttribute("href");
  const href = address === null ? undefined : followable(address);
  if (href === undefined) {
    const text = document.createElement("span");
    text.className = "md-dead-link";
    if (address !== null) text.title = address;
    text.append(...link.childNodes);
    link.replaceWith(text);
    return;
  }
  link.href = href;
  link.target = "_blank";
  link.rel = "noopener noreferrer";
}

/** Turns the check box of a task list into text: it is not a control. */
function settle(input: HTMLInputElement): void {
  if (input.getAttribute("type") !== "checkbox") {
    input.remove();
    return;
  }
  const done = input.hasAttribute("checked");
  const box = document.createElement("span");
  box.className = done ? "md-box md-box-done" : "md-box";
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", done ? "done" : "not done");
  input.closest("li")?.classList.add("md-task");
  input.replaceWith(box);
}

/** Removes all classes except the language of code. */
function keepLanguage(element: Element): void {
  if (element.classList.contains("md-task") || element.classList.contains("md-box")) return;
  const language = [...element.classList].find((name) => /^language-[\w+#.-]+$/.test(name));
  if (element.tagName === "CODE" && language !== undefined) element.className = language;
  else if (!element.className.startsWith("md-")) element.removeAttribute("class");
}

/** Puts a heading below those of the page: its title, and one for each prompt. */
function lower(heading: Element): void {
  const level = Number(heading.tagName.slice(1));
  const lowered = document.createElement(`h${Math.min(6, level + 2)}`);
  lowered.className = `md-h${level}`;
  lowered.append(...heading.childNodes);
  heading.replaceWith(lowered);
}

/** Makes wide tables scroll, so that they do not widen the page. */
function scroll(table: HTMLTableElement): void {
  const frame = document.createElement("div");
  frame.className = "md-table";
  frame.tabIndex = 0;
  frame.setAttribute("role", "region");
  frame.setAttribute("aria-label", "Table");
  table.replaceWith(frame);
  frame.append(table);
}

function escape(text: string): string {
  return text
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/>/g, "&gt;")
    .replace(/"/g, "&quot;")
    .replace(/'/g, "&#39;");
}
