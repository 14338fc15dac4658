// A Markdown text. While it streams, only its last block is rendered again: the earlier ones keep their nodes.

import { h, render, type VNode } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";

import { type Block, blocksAfter, definitionsOf, withDefinitions } from "../../../text/blocks.ts";
import { hasRightToLeft } from "../../../text/direction.ts";
import { renderMarkdown } from "../../../text/markdown.ts";
import { CodeBlock } from "./CodeBlock.tsx";

export interface MarkdownProps {
  text: string;
  /** Whether more text follows. */
  streaming?: boolean;
}

export function Markdown({ text, streaming = false }: MarkdownProps) {
  // The nodes of each block. Preact does not touch a node that it receives again.
  const drawn = useRef<Drawn[]>([]);
  const nodes = useMemo(() => {
    const blocks = blocksAfter(
      drawn.current.map((one) => one.block),
      text,
    );
    const definitions = definitionsOf(blocks);
    const names = [...definitions.values()].join("\n");
    drawn.current = blocks.map((block, at) => {
      const whole = !streaming || at < blocks.length - 1;
      const before = drawn.current[at];
      if (before !== undefined && before.block === block && before.whole === whole && before.names === names) return before;
      const source = block.kind === "code" ? `${block.language}\n${block.code}` : withDefinitions(block, definitions);
      const node = before?.source === source && before.whole === whole ? before.node : draw(block, source, at, whole);
      return { block, names, source, whole, node };
    });
    return drawn.current.map((one) => one.node);
  }, [text, streaming]);
  return <div class="th-markdown">{nodes}</div>;
}

interface Drawn {
  block: Block;
  /** The applied link definitions. */
  names: string;
  /** The full input of the block's rendering. */
  source: string;
  whole: boolean;
  node: VNode;
}

function draw(block: Block, source: string, at: number, whole: boolean): VNode {
  return block.kind === "code" ? (
    <CodeBlock key={`c${at}`} code={block.code} language={block.language} whole={whole || block.closed} />
  ) : (
    <MarkdownBlock key={`m${at}`} source={source} whole={whole} />
  );
}

function MarkdownBlock({ source, whole }: { source: string; whole: boolean }) {
  const place = useRef<HTMLDivElement>(null);
  const shown = useRef<string | undefined>(undefined);
  const frames = useRef<HTMLElement[]>([]);
  useLayoutEffect(() => {
    const element = place.current;
    if (element === null || shown.current === source) return;
    shown.current = source;
    const fragment = renderMarkdown(source);
    const framed = [...fragment.querySelectorAll("pre")].map((pre) => frame(pre));
    for (const { place: at, pre } of framed) pre.replaceWith(at);
    release(frames.current);
    frames.current = framed.map(({ place: at }) => at);
    element.replaceChildren(fragment);
    element.classList.toggle("th-both-ways", hasRightToLeft(element.textContent ?? ""));
  }, [source]);
  useLayoutEffect(() => {
    for (const at of frames.current) renderCode(at, whole);
  }, [source, whole]);
  useLayoutEffect(() => () => release(frames.current), []);
  return <div class="th-markdown-block" ref={place} />;
}

/** Gives code inside a list or quotation the same frame as code at the margin. */
function frame(pre: HTMLPreElement): { pre: HTMLPreElement; place: HTMLElement } {
  const place = document.createElement("div");
  const language = /^language-(.+)$/.exec(pre.firstElementChild?.className ?? "")?.[1] ?? "";
  place.dataset.language = language.toLowerCase();
  place.dataset.code = (pre.textContent ?? "").replace(/\n$/, "");
  return { pre, place };
}

function renderCode(place: HTMLElement, whole: boolean): void {
  const { code = "", language = "" } = place.dataset;
  render(h(CodeBlock, { code, language, whole }), place);
}

function release(places: readonly HTMLElement[]): void {
  for (const place of places) render(null, place);
}
