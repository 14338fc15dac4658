// The grammars of the syntax highlighter. Always imported lazily.

import "./code-themes.css";

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

/** Returns code as HTML, with one of the grammars above. */
export function colour(code: string, grammar: string): string {
  return hljs.highlight(code, { language: grammar, ignoreIllegals: true }).value;
}
