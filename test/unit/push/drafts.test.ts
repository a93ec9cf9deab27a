import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.js';
import { type Draft, Drafts, keyOf, prepareDraft } from '../../../src/push/drafts.js';
import { Previews } from '../../../src/push/previews.js';
import { emptyDir } from '../../support/open-warehouse.js';
import { importingOfFile, settings } from './import/support.js';

const importing = importingOfFile();
const parts = () => ({ store: importing.warehouse, queue: importing.queue, settings });

function stored() {
  const dir = emptyDir();
  const previews = new Previews(dir, systemClock);
  return { dir, previews, drafts: new Drafts(dir, previews, systemClock) };
}

const priority = (entityId: string, seen: string, wanted: string) =>
  ({ entityType: 'topic', entityId, field: 'priority', seen, wanted }) as const;

const textOf = ({ edits }: Draft) =>
  edits.map(({ entityId, seen, wanted }) => `${entityId} ${seen} ${wanted}`);

it('keeps what was seen first, and edits nothing that is as it was seen', () => {
  const { drafts, dir } = stored();
  drafts.edit('anna', [priority('t1', 'default', 'high'), priority('t2', 'low', 'low')]);
  drafts.edit('anna', [priority('t1', 'very_low', 'very_high')]);
  expect(textOf(drafts.of('Anna '))).toEqual(['t1 default very_high']);
  drafts.edit('ben', [priority('t1', 'default', 'low')]);
  expect(
    drafts
      .all()
      .map(({ by }) => by)
      .sort(),
  ).toEqual(['anna', 'ben']);
  drafts.edit('anna', [priority('t1', 'default', 'default')]);
  expect(drafts.all().map(({ by }) => by)).toEqual(['ben']);
  expect(readdirSync(join(dir, 'imports'))).toHaveLength(1);
});

it('a file that cannot be read harms only its owner, who is told which it is', () => {
  const { drafts, dir } = stored();
  drafts.edit('anna', [priority('t1', 'default', 'high')]);
  const [file = ''] = readdirSync(join(dir, 'imports'));
  drafts.edit('ben', [priority('t1', 'default', 'low')]);
  writeFileSync(join(dir, 'imports', file), '{"by": "anna"');
  expect(drafts.all().map(({ by }) => by)).toEqual(['ben']);
  expect(() => drafts.of('anna')).toThrow(expect.objectContaining({ hint: expect.stringContaining(file) }));
});

it('what was reviewed goes with its confirmation, however the process ends; what was edited since stays', async () => {
  const { drafts, previews } = stored();
  drafts.edit('anna', [priority('t1', 'default', 'high'), priority('t2', 'default', 'low')]);
  const preview = previews.add(await prepareDraft(parts(), drafts.of('anna')));
  drafts.reviewed(drafts.of('anna'), preview.id);
  drafts.edit('anna', [priority('t2', 'default', 'very_low')]);
  expect(textOf(drafts.of('anna'))).toEqual(['t1 default high', 't2 default very_low']);
  previews.set(preview.id, { state: 'confirmed' });
  expect(textOf(drafts.of('anna'))).toEqual(['t2 default very_low']);
});

it('a new review cancels the one before it, and a review that is cancelled leaves the draft', async () => {
  const { drafts, previews } = stored();
  const review = async () => {
    const draft = drafts.of('anna');
    const { id } = previews.add(await prepareDraft(parts(), draft));
    drafts.reviewed(draft, id);
    return id;
  };
  drafts.edit('anna', [priority('t1', 'default', 'high')]);
  const [first, second] = [await review(), await review()];
  expect([first, second].map((id) => previews.get(id)?.state)).toEqual(['cancelled', 'new']);
  previews.set(second, { state: 'cancelled' });
  expect(textOf(drafts.of('anna'))).toEqual(['t1 default high']);
});

it('plans one change a topic, with the values that were seen, and says what cannot be changed', async () => {
  const { drafts } = stored();
  drafts.edit('anna', [
    priority('t1', 'low', 'high'),
    { entityType: 'topic', entityId: 't1', field: 'archived', seen: false, wanted: true },
    { entityType: 'topic', entityId: 't1', field: 'archived_reason', seen: null, wanted: 'done elsewhere' },
    priority('gone', 'low', 'high'),
    priority('unheard-of', 'low', 'high'),
  ]);
  drafts.explain('anna', 'planning');
  const plan = await prepareDraft(parts(), drafts.of('anna'));
  expect(plan.changes).toMatchObject([
    {
      entityId: 't1',
      wanted: { priority: 'high', archived: true, archived_reason: 'done elsewhere' },
      base: { priority: 'low', archived: false, archived_reason: null },
      baseFrom: 'file',
      requestedBy: 'anna',
      requestedReason: 'planning',
    },
  ]);
  expect(plan.leftOut).toEqual([
    { what: 'Gone', why: 'the topic was deleted (spam): the API no longer has it' },
    { what: 'unheard-of', why: 'the topic is not in the warehouse' },
  ]);
});

it('what was seen can be taken for what is there now, one by one', () => {
  const { drafts } = stored();
  drafts.edit('anna', [priority('t1', 'default', 'high'), priority('t2', 'default', 'low')]);
  const [first, second] = drafts.of('anna').edits.map(keyOf);
  drafts.settle('anna', [first ?? ''], () => 'very_low');
  expect(textOf(drafts.of('anna'))).toEqual(['t1 very_low high', 't2 default low']);
  drafts.settle('anna', [second ?? ''], 'discard');
  expect(textOf(drafts.of('anna'))).toEqual(['t1 very_low high']);
});

it('a reason goes with its archiving: alone, it would archive the topic unseen', () => {
  const { drafts } = stored();
  const archived = {
    entityType: 'topic',
    entityId: 't1',
    field: 'archived',
    seen: false,
    wanted: true,
  } as const;
  drafts.edit('anna', [
    priority('t1', 'default', 'high'),
    archived,
    { ...archived, field: 'archived_reason', seen: null, wanted: 'done elsewhere' },
  ]);
  drafts.settle('anna', [keyOf(archived)], 'discard');
  expect(textOf(drafts.of('anna'))).toEqual(['t1 default high']);
});

it('a preview says what a colleague has changed since it was edited', async () => {
  const { drafts } = stored();
  drafts.edit('anna', [priority('t1', 'very_high', 'high')]);
  const { notes } = await prepareDraft(parts(), drafts.of('anna'));
  expect(notes).toEqual([
    expect.stringMatching(/: priority is now .+, was very_high when you edited it\. Unless you overwrite it/),
  ]);
});
