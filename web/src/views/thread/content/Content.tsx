// ACP's content blocks: text, images, audio, linked files, embedded files.

import { followable } from "../../../text/safe-url.ts";
import { grammarOf, languageOfPath } from "../../../text/highlight.ts";
import { visibleLine } from "../../../text/bidi-guard.ts";
import { type AcpObject, isObject, number, text } from "../../../state/acp.ts";
import { storedFor } from "../../../state/attachments.ts";
import { CodeBlock } from "./CodeBlock.tsx";
import { Fold } from "./Fold.tsx";
import { bytes } from "../../../text/format.ts";
import { Icon } from "./Icon.tsx";
import { Markdown } from "./Markdown.tsx";
import { Path } from "./Path.tsx";
import { Picture } from "./Picture.tsx";
import { RawJson } from "./RawJson.tsx";

/** Image types that a browser may render from data. SVG is included, since an image runs no scripts. */
const PICTURES = /^image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml)$/i;
const SOUNDS = /^audio\/[\w.+-]+$/i;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

export interface ContentProps {
  id: string;
  block: AcpObject;
  /** Whether it is part of a message of the user. */
  own?: boolean;
}

export function Content({ id, block, own = false }: ContentProps) {
  switch (block.type) {
    case "text":
      return text(block.text) === undefined ? <Unknown id={id} block={block} /> : <Markdown text={text(block.text) ?? ""} />;
    case "image":
      return <Image id={id} block={block} />;
    case "audio":
      return <Sound id={id} block={block} />;
    case "resource_link":
      return <Link id={id} block={block} own={own} />;
    case "skill":
      return text(block.name) === undefined ? <Unknown id={id} block={block} /> : <p>/{visibleLine(text(block.name) ?? "")}</p>;
    case "resource":
      return <Resource id={id} block={block} />;
    default:
      return <Unknown id={id} block={block} />;
  }
}

function Unknown({ id, block }: ContentProps) {
  return <RawJson id={`${id}/raw`} label={`Content: ${visibleLine(text(block.type) ?? "unknown")}`} value={block} />;
}

function Image({ id, block }: ContentProps) {
  const type = text(block.mimeType) ?? "";
  const data = (text(block.data) ?? "").replace(/\s+/g, "");
  if (!PICTURES.test(type) || !BASE64.test(data) || data === "") return <Unknown id={id} block={block} />;
  return <Picture type={type.toLowerCase()} data={data} name={text(block.uri) ?? "Picture"} />;
}

/** The page's content security policy blocks audio, so only its name and size are shown. */
function Sound({ id, block }: ContentProps) {
  const type = text(block.mimeType) ?? "";
  const data = text(block.data);
  if (!SOUNDS.test(type) || data === undefined) return <Unknown id={id} block={block} />;
  return (
    <p class="th-attachment">
      <Icon name="file" /> Sound, {type}, {bytes(Math.floor((data.length * 3) / 4))}
    </p>
  );
}

function Link({ id, block, own = false }: ContentProps) {
  const uri = text(block.uri);
  if (uri === undefined) return <Unknown id={id} block={block} />;
  // The path of a file that the daemon has stored means nothing to the user. An agent could disguise any path as one.
  const hidesPath = own && storedFor(block) !== undefined;
  const name = text(block.title) ?? text(block.name) ?? uri;
  const size = number(block.size);
  return (
    <p class="th-attachment" title={visibleLine(uri)}>
      <Named uri={uri} name={name} hidesPath={hidesPath} />
      {size !== undefined && <span class="th-quiet">{bytes(size)}</span>}
      {text(block.description) !== undefined && <span class="th-quiet">{text(block.description)}</span>}
    </p>
  );
}

function Resource({ id, block }: ContentProps) {
  const resource = isObject(block.resource) ? block.resource : undefined;
  const uri = text(resource?.uri);
  if (resource === undefined || uri === undefined) return <Unknown id={id} block={block} />;
  const inside = text(resource.text);
  if (inside === undefined) {
    const blob = text(resource.blob) ?? "";
    return (
      <p class="th-attachment">
        <Named uri={uri} name={nameOf(uri)} />
        <span class="th-quiet">
          {text(resource.mimeType)} {bytes(Math.floor((blob.length * 3) / 4))}
        </span>
      </p>
    );
  }
  const language = languageOfPath(uri);
  return (
    <Fold
      id={`${id}/resource`}
      class="th-resource"
      summary={
        <>
          <Named uri={uri} name={nameOf(uri)} />
          <span class="th-quiet">{bytes(inside.length)}</span>
        </>
      }
    >
      {() => <CodeBlock code={inside} language={grammarOf(language) === undefined ? "" : language} whole />}
    </Fold>
  );
}

/** A file by its path, a web address as a link, anything else by its name. */
function Named({ uri, name, hidesPath = false }: { uri: string; name: string; hidesPath?: boolean }) {
  if (uri.startsWith("file://") && !hidesPath) {
    return (
      <>
        <Icon name="file" />
        <Path path={pathOf(uri)} />
      </>
    );
  }
  const href = followable(uri);
  if (href === undefined) {
    return (
      <>
        <Icon name="file" />
        <bdi class="th-path mono">{visibleLine(name)}</bdi>
      </>
    );
  }
  return (
    <>
      <Icon name="link" />
      <a href={href} target="_blank" rel="noopener noreferrer">
        {visibleLine(name)}
      </a>
    </>
  );
}

function pathOf(uri: string): string {
  const path = uri.slice("file://".length);
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function nameOf(uri: string): string {
  try {
    return decodeURIComponent(/([^/]*)\/?$/.exec(uri)?.[1] || uri);
  } catch {
    return uri;
  }
}
