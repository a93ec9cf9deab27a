import stringWidth from 'string-width';

/** How many columns of a terminal a text takes: wide characters take two, combining ones none. */
export function widthOf(text: string): number {
  return stringWidth(text);
}

const segments = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** The text itself when it fits into `columns`, otherwise its beginning and `…`. Never cuts a character in two. */
export function cut(text: string, columns: number): string {
  // The quick check first: measuring every character of a long text costs seconds.
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

/** A text from outside in one line, without what moves a cursor or turns the direction of what follows. */
export function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}\p{Bidi_Control}]+/gu, ' ').trim();
}
