import { describe, expect, it } from 'vitest';
import { readSchema } from '../../../../scripts/read-schema.mjs';
import { UsageError } from '../../../../src/base/errors.js';
import { parseHeader } from '../../../../src/push/import/header.js';
import { schemaStatements } from '../../../support/schema.js';

const meaning = (...columns: string[]) => {
  const { entityType, id, edited, baseAt, notes } = parseHeader(columns, 'list.csv');
  const fields = Object.fromEntries(
    edited.map(({ field, header, base }) => [field.name, base ? `${header}/${base.header}` : header]),
  );
  return { entityType, id: id.header, fields, baseAt, notes };
};

const refusal = (...columns: string[]): string => {
  try {
    parseHeader(columns, 'list.csv');
  } catch (error) {
    if (error instanceof UsageError)
      return error.problems.map(({ setting, problem }) => `${setting} ${problem}`).join('; ');
  }
  throw new Error('not refused');
};

describe('the header', () => {
  it.each([
    [['topic_id', 'priority'], 'topic', 'topic_id'],
    [['Priority', 'Topic ID'], 'topic', 'Topic ID'],
    [['topic-id', 'PRIORITY'], 'topic', 'topic-id'],
    [['TopicId', 'lifecycleState'], 'topic', 'TopicId'],
    [['company_id', 'is_vip'], 'company', 'company_id'],
    [['id', 'archived'], 'topic', 'id'],
    [['ID', 'isVip', 'name'], 'company', 'ID'],
    // Another id is a separate column.
    [['id', 'topic_id', 'priority'], 'topic', 'topic_id'],
  ])('%j changes a %s by %s', (columns, entityType, id) => {
    expect(meaning(...columns)).toMatchObject({ entityType, id });
  });

  it.each([
    [['topic_id', 'company_id', 'priority'], 'company_id and topic_id are both present'],
    [['topic_id', 'Topic ID', 'priority'], 'occurs twice'],
    [['id', 'name'], 'may refer to topics or to companies'],
    [['id', 'priority', 'is_vip'], 'may refer to topics or to companies'],
    [['owner', 'priority'], 'add a column topic_id'],
    [['title', 'prio'], 'did you mean priority instead of "prio"?'],
    [['title', 'priority', 'is_vip'], 'add a column topic_id (or company_id)'],
    [['topic_id', 'title'], 'none can be changed: add one of priority, lifecycle_state'],
    [['topic_id', 'priorty'], 'did you mean priority instead of "priorty"?'],
    [['topic_id', 'Prio (new)'], 'did you mean priority instead of "Prio (new)"?'],
    [['topic_id', 'Status [wanted]'], 'did you mean lifecycle_state instead of "Status [wanted]"?'],
    // The other columns do not save a file in which one was renamed.
    [['topic_id', 'archived', 'Prio'], 'did you mean priority?'],
    [['topic_id', 'archived', 'Prioritaet'], 'did you mean priority?'],
    [['topic_id', 'archived', 'new priority'], 'did you mean priority?'],
    [['topic_id', 'priority', 'Lifecyle'], 'did you mean lifecycle_state?'],
    [['topic_id', 'priority', 'Status (wanted)'], 'did you mean lifecycle_state?'],
    // Nor does a name that resembles nothing, where the base column is still there.
    [['topic_id', 'archived', 'Rank', 'base_priority', 'base_archived'], 'has no column priority beside it'],
    [['topic_id', '', 'archived', 'base_priority', 'base_archived'], 'has no column priority beside it'],
    [['topic_id', '', 'title'], 'these have no name: column B'],
    [['topic_id', 'lifecycle_state', 'lifecycleState'], 'both mean lifecycle_state'],
    [['topic_id', 'status'], 'did you mean lifecycle_state instead of "status"?'],
    [['company_id', 'domain'], 'did you mean primary_domain instead of "domain"?'],
    [['topic_id', 'priority', 'base_priority', 'Base Priority'], 'both mean base_priority'],
    [['topic_id_1', 'topic_id_2', 'keep', 'Priority'], 'Priority is not changed by a sheet of pairs'],
  ])('%j is refused', (columns, problem) => {
    expect(refusal(...columns)).toContain(problem);
  });

  it('names a second column of one meaning once', () => {
    const columns = ['topic_id', 'priority', 'base_priority', 'Base Priority'];
    expect(refusal(...columns).match(/both mean/g)).toHaveLength(1);
  });
});

describe('columns', () => {
  it('are found whatever the spelling, with their base columns', () => {
    expect(
      meaning('topic_id', 'Lifecycle state', 'BASE lifecycle-state', 'Base Updated At', 'Priority'),
    ).toEqual({
      entityType: 'topic',
      id: 'topic_id',
      fields: { priority: 'Priority', lifecycle_state: 'Lifecycle state/BASE lifecycle-state' },
      baseAt: 3,
      notes: [],
    });
  });

  it('that are unused are named, except those of our own sheets and results', () => {
    expect(meaning('topic_id', 'title', 'priority', 'Owner', 'result', 'reason', '').notes).toEqual([
      'Unused columns: Owner.',
    ]);
    expect(meaning('topic_id', 'priority', 'Prio (new)', 'notes', 'Stage', 'Log').notes).toEqual([
      'Unused columns: Prio (new), notes, Stage, Log.',
    ]);
  });

  it('of the warehouse are never taken for a misspelled one', async () => {
    const { columns } = await readSchema(schemaStatements());
    const other = columns
      .map(({ name }) => name)
      .filter(
        // Other words for a column that can be changed are asked about.
        (name) =>
          !['topic_id', 'company_id', 'priority', 'archived_reason', 'logo_url'].includes(name ?? '') &&
          !['status', 'state', 'domain', 'email', 'severity', 'company_name'].includes(name ?? ''),
      );
    expect(other.length).toBeGreaterThan(200);
    for (const name of new Set(other)) {
      expect(meaning('topic_id', 'priority', name ?? '').entityType).toBe('topic');
      expect(meaning('topic_id', 'archived_reason', name ?? '').entityType).toBe('topic');
      expect(meaning('company_id', 'logo_url', name ?? '').entityType).toBe('company');
    }
  });

  it('that say whose row it is are the title of a topic, and the name that a company had', () => {
    const titleOf = (...columns: string[]) => parseHeader(columns, 'list.csv').title?.header ?? null;
    expect(titleOf('topic_id', 'priority', 'Title', 'Name')).toBe('Title');
    expect(titleOf('topic_id', 'priority')).toBe(null);
    expect(titleOf('company_id', 'name', 'base_name')).toBe('base_name');
    expect(titleOf('company_id', 'name')).toBe(null);
    expect(titleOf('company_id', 'is_vip', 'Company')).toBe('Company');
  });
});
