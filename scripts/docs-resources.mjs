// Writes what follows from the resource table (src/contract/resources.ts) between its marks in docs/how-it-syncs.md:
// the tables of resources and of the fields that make a child due.
//   node scripts/docs-resources.mjs
// It reads the built program (npm run build).
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { table } from './markdown.mjs';

/** @typedef {import('../src/contract/resources.js').Resources} Resources */

const root = fileURLToPath(new URL('../', import.meta.url));

/** The files with generated parts, relative to the project. */
export const files = ['docs/how-it-syncs.md'];

/**
 * The generated parts by their names.
 * @type {Record<string, (resources: Resources) => string[]>}
 */
const parts = {
  resources: ({ lists, children }) =>
    lines(
      table(
        ['resource', 'of', 'request', 'weight', 'days'],
        lists.flatMap((list) => [
          [`**\`${list.name}\`**`, '', `\`GET ${list.endpoint.path}\``, '', 'every run'],
          ...children
            .filter((child) => child.list.name === list.name)
            .map(({ name, endpoint, parentParameter, weight, maxAgeDays }) => [
              `\`${name}\``,
              `\`${list.name}\``,
              `\`GET ${endpoint.path}${parentParameter === undefined ? '' : `?${parentParameter}=`}\``,
              String(weight),
              String(maxAgeDays),
            ]),
        ]),
      ),
    ),
  'change-fields': ({ lists, children }) =>
    lines(
      table(
        ['child', 'fields of the list item'],
        lists.flatMap((list) =>
          children
            .filter((child) => child.list.name === list.name)
            .map(({ name, changeFields, members, moved }) => {
              const fields = changeFields.map(fieldOf).join(', ');
              const also = moved && `${fieldOf(moved.at)}, unless it equals ${fieldOf(moved.unlessIs)}`;
              const theirs = members && `${members.fields.map(fieldOf).join(', ')} of its ${members.list}`;
              return [`\`${name}\``, [fields, also, theirs].filter(Boolean).join('; ')];
            }),
        ),
      ),
    ),
};

/** @param {string} markdown */
function lines(markdown) {
  return markdown.split('\n');
}

/** @param {string} path a JSON path */
function fieldOf(path) {
  return path.replace(/^\$\./, '');
}

/**
 * The text with every generated part replaced. Throws when a mark names a part that does not exist, or has no end.
 * @param {string} text
 * @param {Resources} resources
 */
export function withResources(text, resources) {
  const out = [];
  /** @type {string | undefined} */
  let open;
  for (const line of text.split('\n')) {
    const [, mark, name = ''] = /^\s*<!-- (generated|end): ([\w-]+)/.exec(line) ?? [];
    if (mark === 'generated') {
      const part = parts[name];
      if (!part) throw new Error(`there is no generated part named ${name}`);
      out.push(line, ...part(resources));
      open = name;
    } else if (mark === 'end') {
      out.push(line);
      open = undefined;
    } else if (open === undefined) out.push(line);
  }
  if (open !== undefined) throw new Error(`the generated part ${open} has no end`);
  return out.join('\n');
}

async function main() {
  const built = pathToFileURL(join(root, 'dist/contract/resources.js')).href;
  const { resources } = await import(built);
  for (const file of files) {
    const path = join(root, file);
    writeFileSync(path, withResources(readFileSync(path, 'utf8'), resources));
  }
}

if (argv[1] === fileURLToPath(import.meta.url)) await main();
