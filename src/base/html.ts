/** Markup that is safe to send. Only `html` makes it. */
export class Html {
  constructor(readonly text: string) {}
}

/** A value in a template: markup is inserted as it is, everything else as text. */
export type Piece = Html | string | number | null | readonly Piece[];

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * Markup from a template. Every value is escaped for text and for quoted attributes, unless it is markup; null is left
 * out.
 */
export function html(strings: TemplateStringsArray, ...values: readonly Piece[]): Html {
  return new Html(
    strings.reduce((text, string, index) => text + rendered(values[index - 1] ?? null) + string),
  );
}

function rendered(piece: Piece): string {
  if (piece === null) return '';
  if (piece instanceof Html) return piece.text;
  if (typeof piece === 'object') return piece.map(rendered).join('');
  return String(piece).replace(/[&<>"']/g, (character) => entities[character] ?? '');
}
