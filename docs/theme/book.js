// The contents on narrow screens, those of a long page, buttons that copy code, and the search.

const html = document.documentElement;
const contents = document.getElementById("contents");
const button = document.getElementById("contents-button");

function showContents(shown) {
  html.classList.toggle("shows-contents", shown);
  button.setAttribute("aria-expanded", String(shown));
}
button.addEventListener("click", () => showContents(!html.classList.contains("shows-contents")));
contents.querySelector("[aria-current]")?.scrollIntoView({ block: "center" });

// A page of many sections begins with their names. A section of many parts has them in a fold.
const MANY = 8;
const sections = [...document.querySelectorAll("main > h2[id]")];
function linksTo(headings) {
  const list = document.createElement("ul");
  list.append(...headings.map((heading) => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = `#${heading.id}`;
    link.textContent = heading.textContent;
    item.append(link);
    return item;
  }));
  return list;
}
if (sections.length >= MANY) {
  const names = document.createElement("nav");
  names.className = "on-page";
  names.setAttribute("aria-label", "On this page");
  names.append(linksTo(sections));
  for (const section of sections) {
    const parts = [];
    for (let at = section.nextElementSibling; at && at.tagName !== "H2"; at = at.nextElementSibling) {
      if (at.matches("h3[id]")) {
        parts.push(at);
      }
    }
    if (parts.length >= MANY) {
      const fold = document.createElement("details");
      const title = document.createElement("summary");
      title.textContent = `${section.textContent}: all ${parts.length}`;
      fold.append(title, linksTo(parts));
      names.append(fold);
    }
  }
  sections[0].before(names);
}

// The page has no access to the clipboard where its address is not a secure one; the text is selected there.
async function copy(code) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(code);
    return document.execCommand("copy");
  }
}
for (const code of document.querySelectorAll("pre > code")) {
  const copies = document.createElement("button");
  copies.type = "button";
  copies.className = "copy";
  copies.textContent = "Copy";
  copies.addEventListener("click", async () => {
    copies.textContent = (await copy(code)) ? "Copied" : "Selected";
  });
  code.parentElement.append(copies);
  // Long lines scroll, by keys as well.
  code.tabIndex = 0;
}
// A wide table scrolls by itself.
for (const table of document.querySelectorAll("main table")) {
  const frame = document.createElement("div");
  frame.className = "wide";
  frame.tabIndex = 0;
  table.replaceWith(frame);
  frame.append(table);
}

const form = document.getElementById("search");
if (form) {
  const input = form.querySelector("input");
  const list = form.querySelector("ul");
  let loading;

  const load = (address) => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    Object.assign(script, { src: address, onload: resolve, onerror: reject });
    document.head.append(script);
  });
  // The index is large, so it is loaded by the first search.
  const engine = () => loading ??= (async () => {
    window.search = {};
    await Promise.all([load(form.dataset.engine), load(form.dataset.index)]);
    return { ...window.search, index: elasticlunr.Index.load(window.search.index) };
  })();

  const shorten = (body, words) => {
    const lower = body.toLowerCase();
    const found = Math.max(0, Math.min(...words.map((word) => lower.indexOf(word)).filter((at) => at >= 0)));
    const from = Number.isFinite(found) ? Math.max(0, found - 40) : 0;
    return `${from > 0 ? "…" : ""}${body.slice(from, from + 160)}`;
  };
  const line = (text) => {
    const item = document.createElement("li");
    item.textContent = text;
    return item;
  };
  const show = async () => {
    const text = input.value.trim();
    if (text.length < 2) {
      list.hidden = true;
      return;
    }
    let search;
    try {
      search = await engine();
    } catch {
      list.replaceChildren(line("The search index cannot be loaded."));
      list.hidden = false;
      return;
    }
    if (input.value.trim() !== text) {
      return;
    }
    const words = text.toLowerCase().split(/\s+/);
    const { limit_results: limit } = search.results_options;
    const found = search.index.search(text, search.search_options).slice(0, limit);
    list.replaceChildren(...found.map(({ ref, doc }) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = html.dataset.root + search.doc_urls[ref];
      // The path to a section may end with the section, and a page may begin with its own name.
      const path = [...doc.breadcrumbs.split(" » "), doc.title];
      link.textContent = path.filter((name, at) => name !== path[at - 1]).join(" » ");
      const teaser = document.createElement("p");
      teaser.textContent = shorten(doc.body, words);
      item.append(link, teaser);
      return item;
    }));
    if (found.length === 0) {
      list.append(line(`No page contains “${text}”.`));
    }
    list.hidden = false;
  };
  input.addEventListener("input", show);
  input.addEventListener("focus", show);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    list.querySelector("a")?.click();
  });
  document.addEventListener("click", ({ target }) => {
    if (!form.contains(target)) {
      list.hidden = true;
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      list.hidden = true;
      showContents(false);
    } else if (event.key === "/" && document.activeElement !== input) {
      event.preventDefault();
      input.focus();
    }
  });
}
