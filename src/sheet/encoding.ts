/** The text of a file, and what was assumed about its encoding when that is not sure. */
export interface Decoded {
  readonly text: string;
  readonly note?: string;
}

/**
 * Decodes UTF-8 (with and without a byte order mark) and UTF-16 (with one); what is not valid UTF-8 is taken for
 * Windows-1252, which is what Excel writes as "CSV" in western countries, and which fits any bytes.
 */
export function decoded(bytes: Uint8Array): Decoded {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { text: new TextDecoder('utf-16le').decode(bytes) };
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { text: new TextDecoder('utf-16be').decode(bytes) };
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return {
      text: fromWindows1252(bytes),
      note: 'The file is not UTF-8 and was read as Windows-1252: look at letters with accents before going on.',
    };
  }
}

/** What Windows-1252 has from 0x80 to 0x9f, where Latin-1 has control characters; five of them mean nothing. */
const windows1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

/** Node's own decoder of this name gives Latin-1 in some releases (20.20 is one): dashes and the euro would be lost. */
function fromWindows1252(bytes: Uint8Array): string {
  const latin1 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  return latin1.replace(/[\x80-\x9f]/g, (sign) => windows1252.charAt(sign.charCodeAt(0) - 0x80));
}
