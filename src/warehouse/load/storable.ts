/**
 * JSON text that DuckDB can store. Its JSON reader refuses a lone surrogate and a NUL, and with them the whole batch
 * in which they stand, so both become U+FFFD. JSON.stringify is well-formed: it writes a lone surrogate, and nothing
 * else from that range, as an escape; a pair of backslashes is passed over as one, so that an escaped backslash
 * before `u0000` is left alone.
 */
export function storable(value: unknown): { text: string; repaired: boolean } {
  const text = JSON.stringify(value);
  // The common case, one scan without a copy: 200,000 messages hold no escape at all.
  if (!text.includes('\\u')) return { text, repaired: false };
  let repaired = false;
  const clean = text.replace(/\\(?:u0000|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)/g, (found) => {
    if (found.length < 6) return found;
    repaired = true;
    return '\ufffd';
  });
  return { text: clean, repaired };
}
