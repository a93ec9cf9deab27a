import stringWidth from 'string-width';

/** How many columns of a terminal a text takes: wide characters take two, combining ones none. */
export function widthOf(text: string): number {
  return stringWidth(text);
}

/**
 * Text from outside as it may go to a terminal: one line, and no character that would move the cursor, change colours
 * or reverse the reading order. What cannot be shown stands as its escape.
 */
export function shown(text: string): string {
  return text.replace(hostile, (character) => {
    const named = escapes[character];
    return named ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

const escapes: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };
/** C0 and C1 controls, line and paragraph separators, and the marks that embed or override a direction. */
const hostile = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

const segments = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** The text itself when it fits into `columns`, otherwise its beginning and `…`. Never cuts a character in two. */
export function cut(text: string, columns: number): string {
  // Wide enough by far: measuring each character of a long text for nothing would cost seconds.
  if (text.length * 2 <= columns || widthOf(text) <= columns) return text;
  let kept = '';
  let width = 0;
  for (const { segment } of segments.segment(text)) {
    const next = widthOf(segment);
    if (width + next > columns - 1) break;
    kept += segment;
    width += next;
  }
  return `${kept}…`;
}

/** The text filled up to `columns` with spaces, on its left when it is a number. */
export function pad(text: string, columns: number, right = false): string {
  const space = ' '.repeat(Math.max(0, columns - widthOf(text)));
  return right ? space + text : text + space;
}

/** Breaks text into lines of at most `columns`, at spaces where there are any. */
export function wrap(text: string, columns: number): string[] {
  if (widthOf(text) <= columns) return [text];
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line === '') line = word;
    else if (widthOf(line) + 1 + widthOf(word) <= columns) line += ` ${word}`;
    else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line];
}
