// Writes what is made of the schemas and the SQL and is committed: config/default.yaml, docs/schema.md, and the parts of other
// pages between their marks.
//   npm run generate
// It reads the built program.
import { readFileSync, writeFileSync } from 'node:fs';
import { argv } from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { defaultYaml } from './default-yaml.mjs';
import { readSchema } from './read-schema.mjs';
import { schemaPage } from './schema-page.mjs';

/** @typedef {import('../src/contract/resources.js').Resources} Resources */

const root = fileURLToPath(new URL('../', import.meta.url));

/**
 * The page with its generated parts replaced. Throws when a mark names a part that does not exist, or has no end, and when
 * a part has no mark.
 * @param {string} page
 * @param {Readonly<Record<string, string>>} parts by the names in the marks
 */
export function withParts(page, parts) {
  const found = new Set();
  const text = page.replaceAll(
    /(<!-- generated: ([\w-]+) [^\n]*-->\n?)(?:.*?(<!-- end: \2 -->))?/gs,
    (_, start, name, end) => {
      const part = parts[name];
      if (part === undefined) throw new Error(`there is no generated part named ${name}`);
      if (end === undefined) throw new Error(`the generated part ${name} has no end`);
      found.add(name);
      return `${start}${part}\n${end}`;
    },
  );
  const missing = Object.keys(parts).find((name) => !found.has(name));
  if (missing !== undefined) throw new Error(`the page has no part named ${missing}`);
  return text;
}

/**
 * The table of docs/how-it-syncs.md: the resources, and the fields that make a child due.
 * @param {Resources} resources
 */
export function partsOfResources({ lists, children }) {
  const childrenOf = (/** @type {string} */ name) => children.filter(({ list }) => list.name === name);
  const rows = lists.flatMap(({ name: list, endpoint }) => [
    [`**\`${list}\`**`, `\`GET ${endpoint.path}\``, '', 'every run', ''],
    ...childrenOf(list).map(
      ({ name, endpoint: { path }, parentParameter, weight, maxAgeDays, ...change }) => {
        const query = parentParameter === undefined ? '' : `?${parentParameter}=`;
        return [`\`${name}\``, `\`GET ${path}${query}\``, `${weight}`, `${maxAgeDays}`, changeOf(change)];
      },
    ),
  ]);
  return { resources: table(['resource', 'request', 'weight', 'days', 'fields of the list item'], rows) };
}

/**
 * The fields that show a change of a child.
 * @param {Pick<Resources['children'][number], 'changeFields' | 'members' | 'moved'>} child
 */
function changeOf({ changeFields, members, moved }) {
  const own = changeFields.map(fieldOf).join(', ');
  const also = moved && `${fieldOf(moved.at)}, unless it equals ${fieldOf(moved.unlessIs)}`;
  const theirs = members && `${members.fields.map(fieldOf).join(', ')} of its ${members.list}`;
  return [own, also, theirs].filter(Boolean).join('; ');
}

/** @param {string} path a JSON path */
function fieldOf(path) {
  return path.replace(/^\$\./, '');
}

/**
 * The points of each section of docs/assumptions.md.
 * @param {readonly { title: string, points: Readonly<Record<string, string>> }[]} sections
 */
export function partsOfAssumptions(sections) {
  return Object.fromEntries(
    sections.map(({ title, points }) => [
      title.toLowerCase().replaceAll(' ', '-'),
      Object.values(points)
        .flatMap((point) => wrapped(`- ${point}`))
        .join('\n'),
    ]),
  );
}

/**
 * In lines of 130 columns, those after the first indented.
 * @param {string} text
 */
function wrapped(text) {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line.length + 1 + word.length > 130) lines.push(`  ${word}`);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}

/**
 * The tables of docs/privacy.md.
 * @param {import('../src/privacy/policy.js').Classes} privacy
 * @param {typeof import('../src/contract/privacy.js')} contract
 */
function partsOfPrivacy(privacy, { classOf, kinds }) {
  const code = (/** @type {string | undefined} */ text) => (text === undefined ? '' : `\`${text}\``);
  const ofTables = Object.entries(privacy.tables).flatMap(([name, columns]) => {
    const cells = ['identifier', 'personal', 'content'].map((wanted) =>
      Object.entries(columns)
        .flatMap(([column, kind]) => (classOf(kind) === wanted ? code(column) : []))
        .join(', '),
    );
    return cells.every((cell) => cell === '') ? [] : [[code(name), ...cells]];
  });
  /** @type {Map<string, { analysts: string | undefined, strict: string | undefined, kinds: string[] }>} by what is done */
  const treatments = new Map();
  for (const { what, analysts, strict } of kinds.map((kind) => privacy.kinds[kind])) {
    if (analysts === undefined && strict === undefined) continue;
    const methods = `${analysts} ${strict}`;
    const treatment = treatments.get(methods) ?? { analysts, strict, kinds: [] };
    treatment.kinds.push(what);
    treatments.set(methods, treatment);
  }
  const ofKinds = [...treatments.values()].map((one) => [
    code(one.analysts),
    code(one.strict),
    one.kinds.join('; '),
  ]);
  const left = Object.entries(privacy.profiles).map(([name, all]) => [code(name), all.map(code).join(', ')]);
  return {
    tables: `${table(['table', 'identifiers', 'personal', 'content'], ofTables)}\n`,
    kinds: `${table(['analysts', 'strict', 'columns'], ofKinds)}\n`,
    excluded: `${table(['profile', 'leaves out'], left)}\n`,
  };
}

/**
 * A Markdown table.
 * @param {readonly string[]} header
 * @param {readonly (readonly string[])[]} rows
 */
export function table(header, rows) {
  const line = (/** @type {readonly string[]} */ cells) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(header), `|${header.map(() => ' --- |').join('')}`, ...rows.map(line)].join('\n');
}

/** @param {string} text */
function cell(text) {
  return text.replaceAll('|', '\\|').replaceAll(/\s*\n\s*/g, ' ');
}

async function main() {
  const built = (/** @type {string} */ path) => import(pathToFileURL(`${root}dist/${path}`).href);
  const { settings } = await built('config/schema.js');
  const { resources } = await built('contract/resources.js');
  const { sections } = await built('prove/assumptions.js');
  const { classesFile } = await built('privacy/policy.js');
  writeFileSync(`${root}config/default.yaml`, defaultYaml(settings));
  const { readModels } = await built('load/models.js');
  const { schemaOf } = await built('load/views.js');
  const schema = await readSchema(schemaOf({ models: readModels(), viewsDir: `${root}sql/views` }));
  writeFileSync(`${root}docs/schema.md`, schemaPage(schema));
  const pages = {
    'docs/how-it-syncs.md': partsOfResources(resources),
    'docs/assumptions.md': partsOfAssumptions(sections),
    'docs/privacy.md': partsOfPrivacy(classesFile(), await built('contract/privacy.js')),
  };
  for (const [page, parts] of Object.entries(pages)) {
    const path = `${root}${page}`;
    writeFileSync(path, withParts(readFileSync(path, 'utf8'), parts));
  }
}

if (argv[1] === fileURLToPath(import.meta.url)) await main();
