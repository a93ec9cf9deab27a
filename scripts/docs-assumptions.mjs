// Writes the assumptions (src/prove/assumptions.yaml) between their marks in docs/assumptions.md.
//   node scripts/docs-assumptions.mjs
// It reads the built program (npm run build).
import { readFileSync, writeFileSync } from 'node:fs';
import { argv } from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const columns = 130;

/**
 * The page with the points of each section. Throws when a section has no marks.
 * @param {string} page
 * @param {readonly { title: string, points: Readonly<Record<string, string>> }[]} sections
 */
export function withAssumptions(page, sections) {
  return sections.reduce((text, { title, points }) => {
    const name = title.toLowerCase().replaceAll(' ', '-');
    const part = new RegExp(`(<!--generated:${name}-->\n)[^]*?(<!--end:${name}-->)`);
    if (!part.test(text)) throw new Error(`docs/assumptions.md has no part named ${name}`);
    const lines = Object.values(points).flatMap((point) => wrapped(`- ${point}`));
    return text.replace(part, (_, start, end) => `${start}${lines.join('\n')}\n${end}`);
  }, page);
}

/** @param {string} text */
function wrapped(text) {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line.length + 1 + word.length > columns) lines.push(`  ${word}`);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const { sections } = await import(pathToFileURL(`${root}dist/prove/assumptions.js`).href);
  const path = `${root}docs/assumptions.md`;
  writeFileSync(path, withAssumptions(readFileSync(path, 'utf8'), sections));
}
