import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Doc, instant, openStand, type Stand } from './stand.js';

let stand: Stand;
beforeAll(async () => {
  stand = await openStand();
});
beforeEach(() => stand.clear());
afterAll(() => stand.close());

describe('history', () => {
  test('every field arrives, and a record of both sides of a merge is one row', async () => {
    const record = {
      id: 'h',
      changedAt: '2026-01-01T00:00:00Z',
      changedBy: 'user',
      operation: 'UPDATE',
      changes: { priority: 'high' },
      previousValues: { priority: 'low' },
      user: { id: 'u', name: 'Ann', image: null },
    };
    await stand.store([
      { endpoint: 'topic_history', id: 'h', parent: 't1', body: record, at: 1 },
      { endpoint: 'topic_history', id: 'h', parent: 't2', body: record, at: 2 },
      {
        endpoint: 'person_history',
        id: 'i',
        parent: 'p',
        body: { ...record, previousValues: null, user: null },
      },
    ]);
    expect(await stand.project('history')).toEqual([
      {
        id: 'h',
        entity_type: 'topic',
        entity_id: 't2',
        changed_at: new Date('2026-01-01T00:00:00Z'),
        changed_by: 'user',
        operation: 'UPDATE',
        changes: '{"priority":"high"}',
        previous_values: '{"priority":"low"}',
        user_id: 'u',
        user_name: 'Ann',
        user_image: null,
        synced_at: instant(2),
        run_id: 'r1',
      },
      expect.objectContaining({
        id: 'i',
        entity_type: 'person',
        entity_id: 'p',
        previous_values: null,
        user_id: null,
      }),
    ]);
  });
});

describe('merges', () => {
  const user = { id: 'u', name: 'Ann', image: 'i' };
  const source = (at: number): Doc => ({
    endpoint: 'topic_merges',
    id: 's',
    at,
    body: {
      mergedInto: {
        id: 'm',
        mergedAt: '2026-01-01T00:00:00Z',
        user,
        targetTopic: { id: 't', title: 'Target' },
      },
      merges: [],
      totalCount: 1,
    },
  });
  const target = (at: number): Doc => ({
    endpoint: 'topic_merges',
    id: 't',
    at,
    body: {
      mergedInto: null,
      merges: [
        {
          id: 'm',
          mergedAt: '2026-01-02T00:00:00Z',
          user: null,
          sourceTopics: [
            { id: 's', title: 'Source' },
            { id: 'r', title: 'Rest' },
          ],
        },
      ],
    },
  });

  test.each([
    { first: source(1), second: target(2), day: 2, by: null },
    { first: target(1), second: source(2), day: 1, by: 'u' },
  ])('both sides have the same merge, the newer one counts (by $by)', async ({ first, second, day, by }) => {
    await stand.store([first, second]);
    const told = await stand.project('merges');
    expect(told).toHaveLength(2);
    expect(told[1]).toEqual({
      entity_type: 'topic',
      source_id: 's',
      source_name: 'Source',
      target_id: 't',
      target_name: 'Target',
      merge_id: 'm',
      merged_at: new Date(`2026-01-0${day}T00:00:00Z`),
      user_id: by,
      user_name: by && 'Ann',
      user_image: by && 'i',
      synced_at: instant(2),
      run_id: 'r1',
    });
    expect(told[0]).toMatchObject({ source_id: 'r', source_name: 'Rest', target_id: 't', target_name: null });
    await stand.insert('topics', [
      { id: 't', title: 'Target in its row' },
      { id: 's', title: 'Source in its row' },
    ]);
    const named = await stand.project('merges');
    expect(named.map(({ source_name, target_name }) => [source_name, target_name])).toEqual([
      ['Rest', 'Target in its row'],
      ['Source', 'Target in its row'],
    ]);
  });

  test('companies and people by their own names', async () => {
    await stand.store([
      {
        endpoint: 'company_merges',
        id: 'c',
        body: { mergedInto: { targetCompany: { id: 'd', name: 'D' } } },
      },
      {
        endpoint: 'person_merges',
        id: 'p',
        body: { merges: [{ id: 'm', sourcePersons: [{ id: 'q', name: 'Q' }] }] },
      },
      { endpoint: 'person_merges', id: 'none', body: { mergedInto: null, merges: null } },
    ]);
    expect(await stand.project('merges')).toMatchObject([
      { entity_type: 'company', source_id: 'c', target_id: 'd', target_name: 'D' },
      { entity_type: 'person', source_id: 'q', source_name: 'Q', target_id: 'p' },
    ]);
  });
});

describe('stories', () => {
  const layout = (word: string) => ({
    elements: { [word]: { type: 'Text', props: { text: word }, children: [] } },
    root: word,
  });
  const draft = (word: string, refs: string[]) => ({
    slug: 's',
    title: word,
    summary: 'sum',
    version: 2,
    list: layout(word),
    detail: { title: `Detail ${word}`, main: layout(word), sidebar: layout('side') },
    sourceRefs: refs.map((id) => ({ id, type: 'topic' })),
  });
  const relevance = (member: string, label: string | null = null) => ({
    memberId: member,
    relevanceKind: 'action',
    relevanceLabel: label,
    relevanceRationale: 'because',
    linkedAuthorIds: ['a'],
    user: { id: 'u', name: 'Ann', image: null },
  });

  test('draft and archive are taken whole from the newer document; fields of only one stay', async () => {
    await stand.store([
      {
        endpoint: 'stories',
        id: 's',
        at: 2,
        body: {
          draft: draft('new', ['x', 'y']),
          createdAt: '2026-01-01T00:00:00Z',
          isRead: true,
          viewerRelevance: relevance('me'),
          archive: {
            actor: { type: 'agent', name: 'Agent' },
            archivedAt: '2026-01-02T00:00:00Z',
            reason: null,
          },
        },
      },
      {
        endpoint: 'story',
        id: 's',
        at: 1,
        body: {
          draft: draft('old', ['z']),
          createdAt: '2026-01-01T00:00:00Z',
          relevantMembers: [relevance('b', 'first'), relevance('a'), relevance('b')],
          archive: {
            actor: { type: 'member', name: 'Ann', image: 'i', userId: 'u' },
            archivedAt: '2026-01-01T00:00:00Z',
            reason: 'old',
          },
        },
      },
    ]);
    expect(await stand.project('stories')).toEqual([
      {
        slug: 's',
        title: 'new',
        summary: 'sum',
        version: '2',
        detail_title: 'Detail new',
        detail_main: JSON.stringify(layout('new')),
        detail_sidebar: JSON.stringify(layout('side')),
        list: JSON.stringify(layout('new')),
        is_read: true,
        viewer_relevance_member_id: 'me',
        viewer_relevance_relevance_kind: 'action',
        viewer_relevance_relevance_label: null,
        viewer_relevance_relevance_rationale: 'because',
        viewer_relevance_linked_author_ids: ['a'],
        viewer_relevance_user_id: 'u',
        viewer_relevance_user_name: 'Ann',
        viewer_relevance_user_image: null,
        created_at: new Date('2026-01-01T00:00:00Z'),
        archived_at: new Date('2026-01-02T00:00:00Z'),
        archived_reason: null,
        archived_actor_type: 'agent',
        archived_actor_name: 'Agent',
        archived_actor_image: null,
        archived_actor_user_id: null,
        synced_at: instant(2),
        run_id: 'r1',
      },
    ]);
    expect(await stand.project('story_sources')).toMatchObject([
      { story_slug: 's', position: 1, type: 'topic', source_id: 'x', label: null },
      { story_slug: 's', position: 2, source_id: 'y', synced_at: instant(2) },
    ]);
    expect(await stand.project('story_members')).toMatchObject([
      {
        story_slug: 's',
        member_id: 'a',
        relevance_kind: 'action',
        linked_author_ids: ['a'],
        user_name: 'Ann',
      },
      { story_slug: 's', member_id: 'b', relevance_label: 'first' },
    ]);
  });

  test('a story that came back is no longer archived', async () => {
    await stand.store([
      {
        endpoint: 'story',
        id: 's',
        at: 1,
        body: { draft: draft('x', []), archive: { archivedAt: '2026-01-01T00:00:00Z', reason: 'r' } },
      },
      { endpoint: 'stories', id: 's', at: 2, body: { draft: draft('x', []), archive: null } },
    ]);
    expect(await stand.project('stories')).toMatchObject([{ archived_at: null, archived_reason: null }]);
    expect(await stand.project('story_sources')).toEqual([]);
  });
});

describe('the organization and its settings', () => {
  test('organization, channels and automation templates', async () => {
    await stand.store([
      { endpoint: 'whoami', id: 'o', body: { id: 'o', name: 'Acme', slug: 'acme' } },
      {
        endpoint: 'channels',
        id: 'c',
        at: 1,
        body: { channelName: 'help', context: 'old', isConnected: true },
      },
      {
        endpoint: 'channel',
        id: 'c',
        at: 2,
        body: {
          channelName: 'help',
          context: '',
          description: 'd',
          isConnected: false,
          messageCount: 0,
          lastSeenAt: null,
          serverName: 'acme',
          sourceName: 'slack',
          sourceChannelId: 'C1',
          sourceServerId: 'T1',
          createdAt: '2026-01-01T00:00:00Z',
          updatedAt: '2026-01-02T00:00:00Z',
        },
      },
      { endpoint: 'automation_templates', id: 'weekly', at: 1, body: { slug: 'weekly', title: 'Weekly' } },
      {
        endpoint: 'automation_template',
        id: 'weekly',
        at: 2,
        body: {
          slug: 'weekly',
          prompt: 'Sum up',
          schedule: { type: 'cron', expr: '0 9 * * 1' },
          allowedCapabilities: ['x'],
        },
      },
    ]);
    expect(await stand.project('organizations')).toMatchObject([{ id: 'o', name: 'Acme', slug: 'acme' }]);
    expect(await stand.project('channels')).toEqual([
      {
        id: 'c',
        channel_name: 'help',
        server_name: 'acme',
        description: 'd',
        context: '',
        is_connected: false,
        message_count: 0,
        last_seen_at: null,
        source_name: 'slack',
        source_channel_id: 'C1',
        source_server_id: 'T1',
        created_at: new Date('2026-01-01T00:00:00Z'),
        updated_at: new Date('2026-01-02T00:00:00Z'),
        synced_at: instant(2),
        run_id: 'r1',
      },
    ]);
    const [template] = await stand.project('automation_templates');
    expect(template).toMatchObject({
      slug: 'weekly',
      name: null,
      prompt: 'Sum up',
      schedule: '{"type":"cron","expr":"0 9 * * 1"}',
      allowed_capabilities: ['x'],
    });
    expect(JSON.parse(String(template?.body))).toMatchObject({ title: 'Weekly', prompt: 'Sum up' });
  });
});
