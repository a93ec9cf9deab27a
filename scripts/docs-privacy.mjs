// Writes the tables of docs/privacy.md, between their marks, from sql/privacy.yaml and sql/columns.json.
//   node scripts/docs-privacy.mjs
// It reads the built program (npm run build).
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { table } from './markdown.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const target = join(root, 'docs/privacy.md');
const built = (/** @type {string} */ path) => import(pathToFileURL(join(root, 'dist', path)).href);

/** @type {import('../src/warehouse/privacy/policy.js').Classes} */
const privacy = (await built('warehouse/privacy/policy.js')).classesFile();
/** @type {typeof import('../src/contract/privacy.js')} */
const { classOf, kinds } = await built('contract/privacy.js');

/**
 * The generated parts by their names.
 * @type {Record<string, () => string>}
 */
const parts = {
  tables: () => table(['table', 'identifiers', 'personal', 'content', 'kept'], tablesAboutPeople()),
  kinds: () =>
    table(
      ['kind', 'class', 'what it is', 'analysts', 'strict'],
      kinds.flatMap((kind) => {
        const { what, analysts, strict } = privacy.kinds[kind];
        const methods = [analysts, strict];
        return methods.every((method) => method === undefined)
          ? []
          : [[`\`${kind}\``, classOf(kind), what, ...methods.map(methodText)]];
      }),
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

const after = readFileSync(target, 'utf8').replaceAll(
  /(<!-- generated: (\w+) \(npm run docs:privacy\) -->\n).*?(<!-- end: \2 -->)/gs,
  (_, start, name, end) => {
    const part = parts[name];
    if (!part) throw new Error(`there is no generated part named ${name}`);
    return `${start}\n${part()}\n\n${end}`;
  },
);
writeFileSync(target, after);

/** The tables with any column about people, without those that say nothing about them. */
function tablesAboutPeople() {
  return Object.entries(privacy.tables).flatMap(([name, columns]) => {
    const cells = ['identifier', 'personal', 'content'].map((wanted) =>
      Object.entries(columns)
        .filter(([, kind]) => classOf(kind) === wanted)
        .map(([column]) => `\`${column}\``)
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
