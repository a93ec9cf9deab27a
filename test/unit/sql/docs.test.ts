import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sandboxFlags, withAnswers } from '../../../scripts/docs-cookbook.mjs';
import { files, withResources } from '../../../scripts/docs-resources.mjs';
import { entries, resources, resourcesOf } from '../../../src/contract/resources.js';
import { votes } from '../../thorough/votes/topic-votes.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const cookbook = readFileSync(join(root, 'docs/cookbook.md'), 'utf8');

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'signalhouse-docs-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('docs/schema.md', () => {
  const script = join(root, 'scripts/docs-schema.mjs');

  test('has the comments of the database', () => {
    const file = join(folder, 'schema.md');
    execFileSync(process.execPath, [script, file]);
    expect(readFileSync(join(root, 'docs/schema.md'), 'utf8')).toBe(readFileSync(file, 'utf8'));
    expect(spawnSync(process.execPath, [script, '--check', file]).status).toBe(0);
  });

  test('an outdated file is detected', () => {
    const file = join(folder, 'stale.md');
    writeFileSync(file, '# The tables and views\n');
    const { status, stderr } = spawnSync(process.execPath, [script, '--check', file], { encoding: 'utf8' });
    expect({ status, stderr }).toMatchObject({ status: 1, stderr: expect.stringContaining('docs:schema') });
  });
});

describe('docs/privacy.md', () => {
  const script = join(root, 'scripts/docs-privacy.mjs');

  test('has the classes of sql/privacy.yaml, and an outdated file is detected', () => {
    const file = join(root, 'docs/privacy.md');
    expect(spawnSync(process.execPath, [script, '--check', file]).status).toBe(0);
    const stale = join(folder, 'privacy.md');
    writeFileSync(stale, readFileSync(file, 'utf8').replaceAll('`primary_email`', '`email`'));
    const { status, stderr } = spawnSync(process.execPath, [script, '--check', stale], { encoding: 'utf8' });
    expect({ status, stderr }).toMatchObject({
      status: 1,
      stderr: 'docs/privacy.md is outdated: run npm run docs:privacy\n',
    });
  });
});

describe('the sources of the dbt project', () => {
  const script = join(root, 'scripts/docs-dbt.mjs');

  test('are as npm run docs:dbt writes them, and an outdated one is detected', () => {
    const sources = join(folder, 'sources');
    execFileSync(process.execPath, [script, sources]);
    const files = readdirSync(sources);
    expect(files).toEqual(['signalhouse.yml', 'signalhouse_ops.yml', 'signalhouse_raw.yml']);
    for (const file of files) {
      const written = readFileSync(join(sources, file), 'utf8');
      expect(readFileSync(join(root, 'integrations/dbt/models/sources', file), 'utf8')).toBe(written);
    }
    appendFileSync(join(sources, 'signalhouse_ops.yml'), '# mine');
    const { status, stderr } = spawnSync(process.execPath, [script, '--check', sources], {
      encoding: 'utf8',
    });
    expect({ status, stderr }).toMatchObject({
      status: 1,
      stderr: 'signalhouse_ops.yml of the dbt project is outdated: run npm run docs:dbt\n',
    });
  });
});

describe('the parts that follow from the resource table', () => {
  const textOf = (file: string) => readFileSync(join(root, file), 'utf8');

  test.each(files)('%s is as npm run docs:resources writes it', (file) => {
    expect(withResources(textOf(file), resources)).toBe(textOf(file));
  });

  test('a new resource makes them stale', () => {
    const table = resourcesOf({ ...entries, ...votes });
    const [ages, docs] = files.map((file) => withResources(textOf(file), table));
    expect(ages).toContain('    topic_votes: 21\n');
    expect(docs).toContain('| `topic_votes` | `topics` | `GET /topics/{topicId}/votes` | 55 | 21 |');
    expect(docs).toContain('| `topic_votes` | priority |');
  });

  test('a mark without an end, or of no part, is an error', () => {
    expect(() => withResources('# generated: ages', resources)).toThrow('ages has no end');
    expect(() => withResources('# generated: nothing', resources)).toThrow('no generated part named nothing');
  });
});

describe('docs/cookbook.md', () => {
  const ask = async (sql: string) => ({
    columns: ['sql'],
    rows: sql.includes('none') ? [] : [[sql], ['a|b\nc']],
  });

  test('each SQL block gets its answer, an old one is replaced, and the rest is left alone', async () => {
    const text =
      '# One\n\n```sql\nSELECT 1\n```\n\nWhat follows.\n\n```sh\nls\n```\n\n```sql\nnone\n```\n\n## Two\n';
    const answered = await withAnswers(text, ask);
    expect(answered).toBe(
      '# One\n\n```sql\nSELECT 1\n```\n\n| sql |\n| --- |\n| SELECT 1 |\n| a\\|b c |\n\nWhat follows.\n\n```sh\nls\n```\n\n' +
        '```sql\nnone\n```\n\n*No rows.*\n\n## Two\n',
    );
    expect(await withAnswers(answered, ask)).toBe(answered);
    const changed = answered
      .replace('a\\|b c', 'something old')
      .replace('*No rows.*\n', '| sql |\n| --- |\n| x |\n');
    expect(await withAnswers(changed, ask)).toBe(answered);
  });

  test('has at least a dozen questions, each with an answer', async () => {
    const blocks = [...cookbook.matchAll(/^```sql\n.*?^```\n\n(.)/gms)];
    expect(blocks.length).toBeGreaterThanOrEqual(12);
    expect(blocks.map(([, first]) => first)).toEqual(blocks.map(() => '|'));
  });

  test('explains how to get the data of its answers', () => {
    expect(cookbook).toContain(`signalhouse sandbox ${sandboxFlags.join(' ')}`);
  });
});
