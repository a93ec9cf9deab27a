import { describe, expect, it } from 'vitest';
import { UsageError } from '../../../../src/base/errors.js';
import { headingOf } from '../../../../src/push/import/heading.js';

const meaning = (...columns: string[]) => {
  const { entityType, id, edited, baseAt, notes } = headingOf(columns, 'list.csv');
  const fields = Object.fromEntries(
    edited.map(({ field, header, base }) => [field.name, base ? `${header}/${base.header}` : header]),
  );
  return { entityType, id: id.header, fields, baseAt, notes };
};

const refusal = (...columns: string[]): string => {
  try {
    headingOf(columns, 'list.csv');
  } catch (error) {
    if (error instanceof UsageError)
      return error.problems.map(({ setting, problem }) => `${setting} ${problem}`).join('; ');
  }
  throw new Error('not refused');
};

describe('what a file is about', () => {
  it.each([
    [['topic_id', 'priority'], 'topic', 'topic_id'],
    [['Priority', 'Topic ID'], 'topic', 'Topic ID'],
    [['topic-id', 'PRIORITY'], 'topic', 'topic-id'],
    [['TopicId', 'lifecycleState'], 'topic', 'TopicId'],
    [['company_id', 'is_vip'], 'company', 'company_id'],
    [['id', 'archived'], 'topic', 'id'],
    [['ID', 'isVip', 'name'], 'company', 'ID'],
    // Another id beside it is a column of its own.
    [['id', 'topic_id', 'priority'], 'topic', 'topic_id'],
  ])('%j is about a %s by %s', (columns, entityType, id) => {
    expect(meaning(...columns)).toMatchObject({ entityType, id });
  });

  it.each([
    [['topic_id', 'company_id', 'priority'], 'company_id and topic_id are both there'],
    [['topic_id', 'Topic ID', 'priority'], 'is there twice'],
    [['id', 'name'], 'may be of topics or of companies'],
    [['id', 'priority', 'is_vip'], 'may be of topics or of companies'],
    [['title', 'priority'], 'there must be a column topic_id'],
    [['topic_id', 'title'], 'none can be changed: there must be one of priority, lifecycle_state'],
    [['topic_id', 'priorty'], 'is "priorty" for priority?'],
    [['topic_id', 'lifecycle_state', 'lifecycleState'], 'both mean lifecycle_state'],
    [['topic_id', 'status', 'state'], 'both mean lifecycle_state'],
    [['topic_id', 'priority', 'base_priority', 'Base Priority'], 'both mean base_priority'],
  ])('%j is refused', (columns, problem) => {
    expect(refusal(...columns)).toContain(problem);
  });
});

describe('what the columns mean', () => {
  it('is told by forgiving names, with the base beside it', () => {
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

  it('takes another name only when the proper one is not there, and says so', () => {
    const status = meaning('topic_id', 'Status');
    expect(status.fields).toEqual({ lifecycle_state: 'Status' });
    expect(status.notes).toEqual(['The column "Status" is taken for lifecycle_state.']);
    const both = meaning('topic_id', 'status', 'lifecycle_state');
    expect(both.fields).toEqual({ lifecycle_state: 'lifecycle_state' });
    expect(both.notes).toEqual(['Columns that are not used: status.']);
  });

  it('names what is not used, but not what our own sheets and results have', () => {
    expect(meaning('topic_id', 'title', 'priority', 'Owner', 'result', 'remote_value', '').notes).toEqual([
      'Columns that are not used: Owner.',
    ]);
  });
});
