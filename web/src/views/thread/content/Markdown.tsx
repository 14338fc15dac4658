// A Markdown text. While it streams, only its last block is rendered again, and plain words are appended to it: all else keeps its nodes.

import { Component, h, render } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";

import { appendWords } from "../../../text/append-words.ts";
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
  const before = useRef<readonly Part[]>([]);
  const parts = useMemo(() => {
    const blocks = blocksAfter(
      before.current.map((one) => one.block),
      text,
    );
    const definitions = definitionsOf(blocks);
    const names = [...definitions.values()].join("\n");
    before.current = blocks.map((block, at) => {
      const whole = !streaming || at < blocks.length - 1;
      const old = before.current[at];
      if (old !== undefined && old.block === block && old.whole === whole && old.names === names) return old;
      const source = block.kind === "code" ? `${block.language}\n${block.code}` : withDefinitions(block, definitions);
      return { block, names, source, whole };
    });
    return before.current;
  }, [text, streaming]);
  return (
    <div class="th-markdown">
      {parts.map(({ block, source, whole }, at) => (
        <Still key={`${block.kind === "code" ? "c" : "m"}${at}`} block={block} source={source} whole={whole} />
      ))}
    </div>
  );
}

interface StillProps {
  block: Block;
  /** The full input of the block's rendering. */
  source: string;
  whole: boolean;
}

interface Part extends StillProps {
  /** The applied link definitions. */
  names: string;
}

/**
 * Renders a block again only if its source changes. (Preact's own nodes must not be kept for that: each leads to the tree in which
 * it was first rendered, and so to every row that was in the page then.)
 */
class Still extends Component<StillProps> {
  override shouldComponentUpdate({ source, whole }: Readonly<StillProps>): boolean {
    return source !== this.props.source || whole !== this.props.whole;
  }

  override render({ block, source, whole }: Readonly<StillProps>) {
    return block.kind === "code" ? (
      <CodeBlock code={block.code} language={block.language} whole={whole || block.closed} />
    ) : (
      <MarkdownBlock source={source} whole={whole} />
    );
  }
}

function MarkdownBlock({ source, whole }: { source: string; whole: boolean }) {
  const place = useRef<HTMLDivElement>(null);
  const shown = useRef<string | undefined>(undefined);
  /** Whether words were appended since the block was parsed. */
  const appended = useRef(false);
  const frames = useRef<HTMLElement[]>([]);
  useLayoutEffect(() => {
    const element = place.current;
    const before = shown.current;
    // A finished block is what the parser makes of it.
    const isFinal = whole && appended.current;
    if (element === null || (before === source && !isFinal)) return;
    shown.current = source;
    appended.current = !whole && before !== undefined && appendWords(element, before, source);
    if (appended.current) return;
    const fragment = renderMarkdown(source);
    const framed = [...fragment.querySelectorAll("pre")].map((pre) => frame(pre));
    for (const { place: at, pre } of framed) pre.replaceWith(at);
    release(frames.current);
    frames.current = framed.map(({ place: at }) => at);
    element.replaceChildren(fragment);
    element.classList.toggle("th-both-ways", hasRightToLeft(element.textContent ?? ""));
  }, [source, whole]);
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
