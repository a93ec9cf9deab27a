import { afterAll, afterEach, expect, it } from 'vitest';
import { PlainApi, plainCompany, plainGroup, plainPerson, plainTopic, uuid } from '../support/plain-api.js';
import { read } from '../support/published.js';
import { Folders } from '../support/signalhouse.js';

const folders = new Folders();
let api: PlainApi;
afterEach(() => api.stop());
afterAll(() => folders.remove());

it('an API of plain objects is pulled without a complaint, and nothing is due afterwards', async () => {
  api = await PlainApi.start({
    topics: [plainTopic(1, { totalGroupCount: 1, messageCount: 1 })],
    people: [plainPerson(1)],
    companies: [plainCompany(1)],
    topicGroups: { [uuid('t', 1)]: [plainGroup(1)] },
  });
  const pulling = api.pulling(folders);
  expect(await pulling.sync()).toMatchObject({ code: 0 });
  const titles = await read(pulling.dataDir, ({ rows }) =>
    rows(
      'SELECT topics.title, topic_groups.group_id AS "group" FROM topics JOIN topic_groups ON topic_id = topics.id',
    ),
  );
  expect(titles).toEqual([{ title: 'Topic 1', group: uuid('g', 1) }]);
  api.taken();
  await pulling.sync();
  expect(api.taken().filter((one) => one.includes(uuid('t', 1)))).toEqual([]);
});
