// docs/benchmarks.md, from a measured run: npm run bench -- peers --page
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defaultMessages, packages, sizes } from './peers.mjs';

const path = fileURLToPath(new URL('../docs/benchmarks.md', import.meta.url));

/**
 * Writes the page: each figure as its ratio to that of the first row, which is Signalhouse. Counts of wrong rows stay counts.
 * @param {Record<string, string | number>[]} rows @param {number | undefined} messages
 */
export function writePage(rows, messages = defaultMessages) {
  const [own = {}, ...others] = rows;
  const names = Object.keys(own).filter(
    (name) => !['tool', 'first: s', 'idle: s', 'duplicate rows'].includes(name),
  );
  const titles = names.map((name) => name.replace('CPU s', 'CPU').replace('peak MB', 'peak memory'));
  const columns = ['tool', ...titles, 'duplicate rows'];
  const lines = [own, ...others].map((row) => [
    row.tool,
    ...names.map((name) => (Number(row[name]) / Number(own[name])).toFixed(2)),
    row['duplicate rows'],
  ]);
  const organization = Object.entries({ ...sizes, messages }).map(
    ([name, count]) => `${count.toLocaleString('en-US')} ${name}`,
  );
  writeFileSync(
    path,
    `# Benchmarks

Written by \`npm run bench -- peers --page\`, which measures on the machine where it runs. Signalhouse and ${packages[0]} pull the
same organization (${organization.join(', ')}) from the same sandbox, in turns: a first pull, and one a day later
with nothing new (\`idle\`). Each figure is a ratio to that of Signalhouse: 2.00 is twice as much.

| ${columns.join(' | ')} |
|${'---|'.repeat(columns.length)}
${lines.map((line) => `| ${line.join(' | ')} |`).join('\n')}

Only the requests are the same on every machine. A pull waits for them, 120 a minute, so its time is left out here. The [pipeline](../bench/peers/signals.py)
says what each variant of dlt fetches, and what \`cursors only\` does not see. \`rows\` counts the rows of all tables, and \`duplicate rows\`
those of an entity that its table has already.

\`npm run bench\` measures more: budget, a larger organization against the fewest requests possible, memory, the lake (\`-- large\`,
\`-- lake\`, \`-- fleet\`, \`-- duplicates\`).
`,
  );
}
