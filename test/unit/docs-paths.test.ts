import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const pages = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** Folders of src, which docs/architecture.md names without `src/`. */
const folders = readdirSync(join(root, 'src'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

/** What looks like a file or folder of ours: `src/api/budget.ts`, `sql/views`, `api/gate.ts`; not `sql/push/*_sheet.sql`. */
function pathsIn(text: string): string[] {
  const tops = ['src', 'sql', 'test', 'docs', 'config', 'deploy', 'scripts', 'bench', ...folders].join('|');
  const pattern = new RegExp(`\`((?:${tops})/[\\w./-]+)\``, 'g');
  return [...text.matchAll(pattern)].map(([, path]) => path as string);
}

/** Where the links to files of ours lead. */
function linksIn(text: string): string[] {
  return [...text.matchAll(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g)].map(([, path]) => path as string);
}

/** Links to a heading that its page does not have. Headings become anchors as GitHub makes them. */
function deadAnchorsIn(page: string, text: string): string[] {
  const links = [...text.matchAll(/\]\((?!https?:)([^)#]*)#([^)]+)\)/g)];
  return links.flatMap(([, path = '', anchor = '']) => {
    const target = path === '' ? join(root, page) : join(root, dirname(page), path);
    if (!target.endsWith('.md') || !existsSync(target)) return [];
    const headings = [...readFileSync(target, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    );
    return headings.includes(anchor) ? [] : [`${path}#${anchor}`];
  });
}

it.each(pages)('%s names only files and headings that exist', (page) => {
  const text = readFileSync(join(root, page), 'utf8');
  const missing = [
    ...pathsIn(text).filter((path) => ![path, `src/${path}`].some((one) => existsSync(join(root, one)))),
    ...linksIn(text).filter((path) => !existsSync(join(root, dirname(page), path))),
  ];
  expect([...missing, ...deadAnchorsIn(page, text)]).toEqual([]);
});
