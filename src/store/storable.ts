/**
 * JSON text that DuckDB can store. Its JSON reader refuses a lone surrogate or a NUL, and with it the whole batch, so
 * both become U+FFFD. A pair of surrogates stays as it is, escaped or not. A pair of backslashes is skipped as one, so
 * that an escaped backslash before `u0000` is left alone.
 */
export function storable(text: string): { text: string; repaired: boolean } {
  // The common case takes one scan without a copy: 200,000 messages have no such escape at all.
  if (!unstorable.test(text)) return { text, repaired: false };
  let repaired = false;
  const clean = text.replace(escapes, (found) => {
    if (found.length !== 6) return found;
    repaired = true;
    return '\ufffd';
  });
  return { text: clean, repaired };
}

const unstorable = /\\u(?:0000|[dD][89a-fA-F])/;
/** A pair of surrogates has 12 characters, a NUL or a lone one 6, any other escape 2. */
const escapes =
  /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u0000|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)/gs;
