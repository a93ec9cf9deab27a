import { shown, wrap } from './cell.js';

/** Text in sections: a heading and what stands under it; empty sections are left out. */
export function sections(parts: readonly (readonly [heading: string, body: string])[]): string {
  return parts
    .filter(([, body]) => body !== '')
    .map(([heading, body]) => `${heading}\n${indent(body)}`)
    .join('\n\n');
}

export function indent(text: string): string {
  return text.replace(/^(?=.)/gm, '  ');
}

/** Sentences as a list, each with a dash, wrapped so that they fit into 80 columns under a heading. */
export function list(items: readonly string[]): string {
  return items
    .flatMap((item) => wrap(shown(item), 76).map((line, index) => (index === 0 ? `- ${line}` : `  ${line}`)))
    .join('\n');
}

/** Names and values in two columns. */
export function pairs(rows: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(0, ...rows.map(([name]) => name.length));
  return rows
    .flatMap(([name, value]) =>
      wrap(shown(value), 76 - width).map(
        (line, index) => `${(index === 0 ? name : '').padEnd(width)}  ${line}`,
      ),
    )
    .join('\n');
}
