/// <reference path="./saxen.d.ts" />
import { Parser } from 'saxen';

/** What happens in a document, in order. Names come without their namespace's prefix. */
export interface XmlEvents {
  open?(name: string, attribute: (name: string) => string | undefined): void;
  text?(text: string): void;
  close?(name: string): void;
}

/** A document that is not what its format promises. */
export class Malformed extends Error {}

/** Characters of one tag or text; the longest that a workbook holds is one cell with every character escaped. */
const longestToken = 1024 * 1024;

/** Reads XML chunk by chunk: the memory it takes is that of one tag. Raises Malformed when it is not well formed. */
export async function readXml(chunks: AsyncIterable<Uint8Array>, events: XmlEvents): Promise<void> {
  const parser = new Parser();
  let pending = 0;
  const moved = () => {
    pending = 0;
  };
  parser.on('error', (error) => {
    throw new Malformed(error.message);
  });
  parser.on('comment', moved);
  parser.on('openTag', (name, attributes, decode) => {
    moved();
    events.open?.(local(name), (wanted) => {
      const all = attributes();
      const key = wanted in all ? wanted : Object.keys(all).find((one) => local(one) === wanted);
      const value = key === undefined ? undefined : all[key];
      return value === undefined ? undefined : decode(value);
    });
  });
  parser.on('text', (text, decode) => {
    moved();
    events.text?.(decode(text));
  });
  parser.on('cdata', (text) => events.text?.(text));
  parser.on('closeTag', (name) => {
    moved();
    events.close?.(local(name));
  });

  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const bytes of chunks) {
    const text = decodedBy(decoder, bytes);
    // The parser looks through an unfinished token again with each chunk; one of 200 MB would take it hours.
    if (pending > longestToken) throw new Malformed('a tag or text is longer than any of a workbook');
    pending += text.length;
    parser.write(text);
  }
  parser.write(decodedBy(decoder));
  parser.end();
}

function decodedBy(decoder: InstanceType<typeof TextDecoder>, bytes?: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: bytes !== undefined });
  } catch (error) {
    throw new Malformed('it is not UTF-8', { cause: error });
  }
}

function local(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
