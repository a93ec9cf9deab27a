import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ResourceEntry } from '../../../src/contract/resource-entry.js';
import {
  entries,
  type Resources,
  requestFor,
  resources,
  resourcesOf,
} from '../../../src/contract/resources.js';
import { type Models, readModels } from '../../../src/load/models.js';
import { sqlDir } from '../../../src/store/sql.js';
import { votes } from '../../integration/votes/topic-votes.js';

const childNamed = (name: string) => resources.children.find((child) => child.name === name)!;
const views = readdirSync(join(sqlDir, 'views')).map((file) =>
  readFileSync(join(sqlDir, 'views', file), 'utf8'),
);

const sync = ['sync', 'load'].flatMap((folder) =>
  readdirSync(join(sqlDir, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.sql'))
    .map((file) => readFileSync(join(sqlDir, folder, file), 'utf8')),
);

/** The kinds of documents that a sync stores. */
function kindsOf({ lists, children, embedded }: Resources): string[] {
  return [
    'whoami',
    ...lists.flatMap(({ name, presence }) => (presence === null ? name : [name, presence])),
    ...children.flatMap(({ name, answer }) =>
      answer.form === 'history' ? [name, answer.merges.kind] : name,
    ),
    ...Object.keys(embedded),
  ];
}

/** What the table and the models do not say of each other. */
function forgotten(table: Resources, models: Models): string[] {
  const kinds = kindsOf(table);
  const sql = [...models.derived.map(({ select }) => select), ...views, ...sync].join('\n');
  const read = new Set(models.documents.flatMap(({ documents }) => documents));
  return [
    ...kinds
      .filter((kind) => !read.has(kind) && !sql.includes(`'${kind}'`))
      .map((kind) => `${kind} is stored, and no model or view reads it`),
    ...models.documents.flatMap(({ table: name, documents }) =>
      documents
        .filter((kind) => !kinds.includes(kind))
        .map((kind) => `the model ${name} reads ${kind}, which no resource brings`),
    ),
  ];
}

describe('the resource table and the models', () => {
  const models = readModels();

  test('everything that is stored is read by a model, a view or the sync, and nothing else is read', () => {
    expect(forgotten(resources, models)).toEqual([]);
  });
});

describe('an entry that does not fit is named', () => {
  const { topic_votes: vote } = votes;
  test.each<[string, Record<string, ResourceEntry>, string]>([
    ['no such parent', { votes: { ...vote, parent: 'polls' } }, 'votes: its parent polls is not a list'],
    ['a weight that is taken', { votes: { ...vote, weight: 10 } }, 'votes: its weight 10 is that of topic'],
    [
      'a path without the parent',
      { votes: { ...vote, endpoint: { ...vote.endpoint, path: '/votes' } } },
      'votes: the path /votes must name the parent, and nothing else',
    ],
    [
      'an endpoint name that is taken',
      { votes: { ...vote, endpointName: 'groups' } },
      'votes: there is another endpoint named groups',
    ],
  ])('%s', (_, more, problem) => {
    expect(() => resourcesOf({ ...entries, ...more })).toThrow(problem);
  });
});

describe('the requests of children', () => {
  test('name the parent where the endpoint takes it', () => {
    expect(requestFor(childNamed('topic_groups'), 't1')).toEqual({ params: { topicId: 't1' } });
    expect(requestFor(childNamed('company_groups'), 'c1')).toEqual({ query: { companyId: 'c1' } });
    expect(requestFor(childNamed('story'), 's')).toEqual({
      params: { slug: 's' },
      query: { includeArchived: 'true' },
    });
  });

  test('plain ones leave out what the document does not promise', () => {
    expect(requestFor(childNamed('person_history'), '1')).toEqual({
      params: { personId: '1' },
      query: { limit: 50, changedByFilter: ['agent', 'system', 'user'] },
    });
    expect(requestFor(childNamed('person_history'), '1', { plain: true })).toEqual({
      params: { personId: '1' },
    });
  });
});
