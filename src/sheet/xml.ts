/// <reference path="./saxen.d.ts" />

import { Parser } from 'saxen';

/** The events of a document, in order. Names come without their namespace prefix. */
export interface XmlEvents {
  open?(name: string, attribute: (name: string) => string | undefined): void;
  text?(text: string): void;
  close?(name: string): void;
}

/** A part of a workbook that is not valid XML, or not what the format requires. */
export class MalformedXml extends Error {}

/** A document with a DTD. No spreadsheet program writes one; an attack on XML parsers needs one. */
export class ForbiddenXml extends Error {}

/** Characters of one tag or text; the longest of a workbook is one cell with every character escaped. */
const longestToken = 1024 * 1024;

/** Elements within each other. A worksheet has fewer than ten levels. */
const deepest = 500;

/**
 * Reads XML chunk by chunk, with the memory of a single tag. Raises MalformedXml when it is not well formed, and
 * ForbiddenXml when it declares a document type: entities that a document defines are never expanded.
 */
export async function readXml(chunks: AsyncIterable<Uint8Array>, events: XmlEvents): Promise<void> {
  const parser = new Parser();
  let pending = 0;
  let depth = 0;
  const resetPending = () => {
    pending = 0;
  };
  parser.on('error', (error) => {
    throw new MalformedXml(error.message);
  });
  parser.on('attention', () => {
    throw new ForbiddenXml('it declares a document type');
  });
  parser.on('comment', resetPending);
  parser.on('openTag', (name, attributes) => {
    resetPending();
    if (++depth > deepest) throw new MalformedXml('its elements are nested too deeply');
    let locals: Map<string, string> | undefined;
    events.open?.(local(name), (wanted) => {
      const all = attributes();
      let value = all[wanted];
      if (value === undefined) {
        // The first of a name wins. Without this map, asking a cell for seven attributes took half of the time.
        locals ??= new Map(
          Object.entries(all)
            .reverse()
            .map(([key, one]) => [local(key), one]),
        );
        value = locals.get(wanted);
      }
      return value === undefined ? undefined : withoutEntities(value);
    });
  });
  parser.on('text', (text) => {
    resetPending();
    events.text?.(withoutEntities(text));
  });
  parser.on('cdata', (text) => {
    resetPending();
    events.text?.(text);
  });
  parser.on('closeTag', (name) => {
    resetPending();
    depth--;
    events.close?.(local(name));
  });

  // The parser ends a tag at a `>` in an attribute whose closing quote is in the next chunk. It is therefore given whole
  // tags: what follows the last `<` waits for the next chunk.
  let rest = '';
  for await (const text of decoded(chunks)) {
    // The parser scans an unfinished token again with each chunk; one of 200 MB would take hours.
    if (pending > longestToken) throw new MalformedXml('a tag or text is too long for a workbook');
    pending += text.length;
    const end = text.lastIndexOf('<');
    if (end === -1) {
      rest += text;
      continue;
    }
    parser.write(rest + text.slice(0, end));
    rest = text.slice(end);
  }
  parser.write(rest);
  parser.end();
}

async function* decoded(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  try {
    for await (const bytes of chunks) {
      if (bytes.length === 0) continue;
      decoder ??= new TextDecoder(encodingOf(bytes), { fatal: true });
      yield decoder.decode(bytes, { stream: true });
    }
    if (decoder) yield decoder.decode();
  } catch (error) {
    throw error instanceof TypeError
      ? new MalformedXml('it is not UTF-8 or UTF-16', { cause: error })
      : error;
  }
}

/** The encodings that OOXML allows. UTF-16 starts with a byte order mark. */
function encodingOf(bytes: Uint8Array): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : 'utf-8';
}

const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/**
 * Text with its references replaced, and with line ends as XML defines them. The parser's own function cuts code points
 * above U+FFFF (emoji) in half.
 */
function withoutEntities(raw: string): string {
  const text = raw.includes('\r') ? raw.replace(/\r\n?/g, '\n') : raw;
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#([0-9]{1,7})|([a-z]+));|&/gi, (_, hex, decimal, name) => {
    if (name !== undefined || (hex === undefined && decimal === undefined)) {
      const character = Object.hasOwn(named, name ?? '') ? named[name] : undefined;
      if (character === undefined) throw new MalformedXml(`the entity ${name ?? '&'} is not defined`);
      return character;
    }
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    if (code === 0 || code > 0x10_ff_ff) throw new MalformedXml(`there is no character ${code}`);
    return String.fromCodePoint(code);
  });
}

function local(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

/** The beginning of each part of a workbook that we write. */
export const xmlStart = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';

/** The namespace of worksheets, styles and notes. */
export const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';

/** Text within XML. */
export function escapedText(text: string): string {
  return /[&<>]/.test(text)
    ? text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
    : text;
}

/** Text within the quotes of an attribute. */
export function escapedAttribute(text: string): string {
  return escapedText(text).replaceAll('"', '&quot;');
}
