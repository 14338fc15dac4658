// The grammars of the syntax highlighter. Always imported lazily.

import DOMPurify from "dompurify";
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import go from "highlight.js/lib/languages/go";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

for (const [name, grammar] of Object.entries({ bash, go, json, python, rust, typescript, xml, yaml })) {
  hljs.registerLanguage(name, grammar);
}

/** Highlights code with one of the grammars above. */
export function colour(code: string, grammar: string): DocumentFragment {
  const html = hljs.highlight(code, { language: grammar, ignoreIllegals: true }).value;
  const nodes = DOMPurify.sanitize(html, { ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"], RETURN_DOM_FRAGMENT: true });
  return nodes as unknown as DocumentFragment;
}
