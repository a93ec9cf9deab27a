// Writes the tables of docs/privacy.md, between their marks, from sql/privacy.yaml.
//   node scripts/docs-privacy.mjs [--check] [file]
// With --check it writes nothing, and exits 1 when the file is outdated.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { table } from './markdown.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const given = process.argv.slice(2).find((argument) => !argument.startsWith('--'));
const target = given ?? join(root, 'docs/privacy.md');

/**
 * @typedef {{ class: string, what: string, apart?: boolean, analysts?: string, strict?: string }} Kind
 * @type {{
 *   kinds: Record<string, Kind>,
 *   kept: Record<string, string>,
 *   profiles: Record<string, string[]>,
 *   tables: Record<string, Record<string, string[]>>,
 * }}
 */
const privacy = parse(readFileSync(join(root, 'sql/privacy.yaml'), 'utf8'));

/**
 * The generated parts by their names.
 * @type {Record<string, () => string>}
 */
const parts = {
  tables: () => table(['table', 'identifiers', 'personal', 'content', 'kept'], tablesAboutPeople()),
  kinds: () =>
    table(
      ['kind', 'class', 'what it is', 'analysts', 'strict'],
      Object.entries(privacy.kinds)
        .filter(([, { analysts, strict }]) => analysts ?? strict)
        .map(([name, { class: ofClass, what, analysts, strict }]) => [
          `\`${name}\``,
          ofClass,
          what,
          methodText(analysts),
          methodText(strict),
        ]),
    ),
  excluded: () =>
    table(
      ['profile', 'leaves out'],
      Object.entries(privacy.profiles).map(([name, left]) => [
        `\`${name}\``,
        left.map((one) => `\`${one}\``).join(', '),
      ]),
    ),
};

const before = readFileSync(target, 'utf8');
const after = before.replaceAll(
  /(<!-- generated: (\w+) \(npm run docs:privacy\) -->\n).*?(<!-- end: \2 -->)/gs,
  (_, start, name, end) => {
    const part = parts[name];
    if (!part) throw new Error(`there is no generated part named ${name}`);
    return `${start}\n${part()}\n\n${end}`;
  },
);
if (!process.argv.includes('--check')) writeFileSync(target, after);
else if (after !== before) {
  console.error('docs/privacy.md is outdated: run npm run docs:privacy');
  process.exitCode = 1;
}

/** The tables with any column about people, without those that say nothing about them. */
function tablesAboutPeople() {
  return Object.entries(privacy.tables).flatMap(([name, byKind]) => {
    const cells = ['identifier', 'personal', 'content'].map((wanted) =>
      Object.entries(byKind)
        .filter(([kind]) => privacy.kinds[kind]?.class === wanted)
        .flatMap(([, names]) => names.map((one) => `\`${one}\``))
        .join(', '),
    );
    const kept = privacy.kept[name];
    return cells.every((cell) => cell === '') ? [] : [[`\`${name}\``, ...cells, kept ? `\`${kept}\`` : '']];
  });
}

/** @param {string | undefined} method */
function methodText(method) {
  return method === undefined ? '' : `\`${method}\``;
}
