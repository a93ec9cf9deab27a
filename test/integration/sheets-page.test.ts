import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { strToU8, zipSync } from 'fflate';
import { afterEach, expect, it } from 'vitest';
import type { StoredTopic } from '../../src/sandbox/world/types.js';
import type { ScheduleView } from '../../src/serve/schedule/record.js';
import { readSheet } from '../../src/sheet/read.js';
import { writeGrid } from '../../src/sheet/write.js';
import { townOfFile } from '../support/pulling.js';
import { changeable, other } from '../support/pushing.js';
import { type Served, serve, terminate, until } from '../support/serving.js';
import { people, textOf, Visitor } from '../support/visiting.js';

const { sandbox, pulling } = await townOfFile();
const topics = changeable(sandbox);

/** Never by itself within a test. */
const yearly = { cron: '0 0 1 1 *', catchUp: false };
const push = { name: 'decisions', run: 'push', ...yearly };
const pull = { name: 'nightly', run: 'sync', ...yearly };

const started: Served[] = [];
afterEach(() => {
  for (const { running } of started.splice(0)) running.child.kill('SIGKILL');
});

async function served(settings: object = {}): Promise<Served> {
  pulling.set({ serve: { users: people, jobs: [push, pull], ...settings } });
  const now = await serve(pulling, [], { SIGNALHOUSE_SERVE_TOKEN: token });
  started.push(now);
  return now;
}
const token = 'a-token-of-a-good-length';

const priorityOf = ({ id }: StoredTopic) => sandbox.world.topics.get(id)?.priority;
const changed = (...some: StoredTopic[]) =>
  `topic_id,priority\n${some.map((one) => `${one.id},${other(String(priorityOf(one)))}\n`).join('')}`;

/** Sets the priority of some topics in a sheet that was downloaded. */
async function edited(bytes: Uint8Array, ids: readonly string[], to: string): Promise<Uint8Array> {
  const grid = await readSheet({ bytes, name: 'topics.xlsx' });
  const [id = -1, priority] = ['topic_id', 'priority'].map((name) => grid.columns.indexOf(name));
  const rows = grid.rows.map((row) => ({
    ...row,
    cells: row.cells.map((cell, at) => (at === priority && ids.includes(String(row.cells[id])) ? to : cell)),
  }));
  const path = join(pulling.dataDir, 'edited.xlsx');
  await writeGrid(path, { ...grid, rows }, { overwrite: true });
  return readFileSync(path);
}

/** Works while the job nightly waits for an API that does not answer. */
async function holding(url: string, work: () => Promise<void>): Promise<void> {
  sandbox.addFaults([{ match: { route: 'whoami' }, kind: 'status', status: 503 }]);
  await start(url, 'nightly');
  await until(
    async () => (await fetch(`${url}/metrics`)).text(),
    (text) => /^signalhouse_running\{job="nightly"[^}]*\} 1$/m.test(text),
  );
  await work().finally(() => sandbox.clearFaults());
}

async function start(url: string, job: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  expect((await fetch(`${url}/jobs/${job}/run`, { method: 'POST', headers })).status).toBe(202);
}

/** Looks at a page until it says this. */
const shows = (visitor: Visitor, path: string, says: string) =>
  until(
    () => visitor.get(path),
    (page) => textOf(page).includes(says),
  );

const bytesOf = async (answer: Response) => new Uint8Array(await answer.arrayBuffer());

it('lets only those in who log in, and programs where they always went', async () => {
  const { url, running } = await served();
  const stranger = new Visitor(url);
  for (const path of ['/', '/runs', '/report', '/topics', '/topics/t1', '/sheets', '/sheets/download']) {
    const { status, headers } = await stranger.ask(path);
    const login = `/login?next=${encodeURIComponent(path)}`;
    expect([status, headers.get('location')]).toEqual([303, login]);
  }
  expect((await stranger.ask('/status.json')).status).toBe(401);
  await until(
    () => stranger.ask('/readyz'),
    ({ status }) => status === 200,
  );
  for (const path of ['/healthz', '/metrics', '/assets/page.css'])
    expect((await stranger.ask(path)).status).toBe(200);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/csv' };
  expect((await stranger.ask('/changes', { method: 'POST', headers, body: 'a' })).status).toBe(400);

  // An unknown name is answered like a wrong password.
  await stranger.logIn('anna', 'wrong password');
  const [wrong, status] = [textOf(stranger.page), stranger.status];
  await stranger.logIn('nobody');
  expect([textOf(stranger.page), stranger.status]).toEqual([wrong, status]);
  expect(status).toBe(401);
  expect(wrong).toContain('The name or the password is wrong.');

  const elsewhere = ['https://evil.example/', '//evil.example', '/.//evil.example', '/\\evil.example'];
  for (const next of [...elsewhere, '/\t/evil.example']) {
    const page = await stranger.get(`/login?next=${encodeURIComponent(next)}`);
    expect(page).toContain('name="next" value="/topics"');
  }

  // A session that somebody else chose is worth nothing, and that of a login has a cookie that no script reads.
  await stranger.get('/login?next=/runs');
  const form = new FormData();
  const issued = /name="token" value="([^"]*)"/.exec(stranger.page)?.[1] ?? '';
  const fields = { token: issued, name: 'ANNA', password: 'correct horse battery', next: '/runs' };
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  const answer = await stranger.ask('/login', { method: 'POST', body: form });
  expect([answer.status, answer.headers.get('location')]).toEqual([303, '/runs']);
  const [cookie = ''] = answer.headers.getSetCookie();
  expect(cookie).toMatch(/^signalhouse=[\w-]{43}; Max-Age=86400; Path=\/; HttpOnly; SameSite=Strict$/);
  expect(textOf(await stranger.get('/'))).toContain('anna Sign out');
  await stranger.send('/logout', {});
  expect(stranger.path).toBe('/login');
  const stolen = await fetch(`${url}/sheets`, {
    redirect: 'manual',
    headers: { cookie: cookie.split(';')[0] ?? '' },
  });
  expect(stolen.status).toBe(303);

  // Guessing is limited for each name, with the right password as well.
  for (let tries = 0; tries < 5; tries += 1) await stranger.logIn('ben', 'wrong password');
  await stranger.logIn('ben');
  expect([stranger.status, textOf(stranger.page)]).toEqual([429, expect.stringContaining('too often')]);
  const { stdout, stderr } = await terminate({ url, running });
  expect(stdout + stderr).not.toMatch(/battery|scrypt/);
});

it('from the download to the undo, by the name of who did it', async () => {
  const { url, running } = await served();
  const anna = await Visitor.of(url, 'anna');
  const download = await anna.ask('/sheets/download');
  expect(download.headers.get('content-disposition')).toMatch(/attachment; filename="topics-[\d-]+\.xlsx"/);
  const sheet = await bytesOf(download);
  const backlog = await readSheet({ bytes: sheet, name: 'topics.xlsx' });
  const listed = new Set(backlog.rows.map(({ cells }) => cells[0]));
  // Not one that another test changes: two people who change one topic in one night are in conflict.
  const [one] = topics.slice(9).filter(({ id }) => listed.has(id)) as [StoredTopic];
  await anna.get('/sheets/download?text=no%20topic%20says%20this');
  expect([anna.status, textOf(anna.page)]).toEqual([400, expect.stringContaining('No topics match')]);

  const before = priorityOf(one);
  const to = other(String(priorityOf(one)));
  const bytes = await edited(sheet, [one.id], to);
  await anna.upload('mine.xlsx', bytes);
  expect(textOf(anna.page)).toContain('1 change to confirm');
  expect(textOf(anna.page)).toContain(`priority: ${before} → ${to}`.replaceAll('_', ' '));
  expect(priorityOf(one)).toBe(before);

  // Somebody else looks at it, and decides nothing.
  const rita = await Visitor.of(url, 'rita');
  expect(textOf(await rita.get(anna.path))).toContain('Requested by anna');
  expect(rita.page).not.toContain('value="confirm"');
  await rita.send(anna.path, { action: 'confirm' });
  expect([rita.status, textOf(rita.page)]).toEqual([
    403,
    expect.stringContaining('You may look and download'),
  ]);
  await rita.upload('rita.csv', changed(one));
  expect(rita.status).toBe(403);
  const ben = await Visitor.of(url, 'ben');
  await ben.get(anna.path);
  await ben.press('confirm');
  expect([ben.status, textOf(ben.page)]).toEqual([400, expect.stringContaining('Only anna')]);
  // A form without the token of its page, or with that of another person.
  const { path } = anna;
  await anna.send(path, { action: 'confirm', token: 'guessed' });
  expect([anna.status, textOf(anna.page)]).toEqual([403, expect.stringContaining('not valid any more')]);
  const foreign = /name="token" value="([^"]*)"/.exec(await ben.get('/sheets'))?.[1] ?? '';
  await anna.send(path, { action: 'confirm', token: foreign });
  expect(anna.status).toBe(403);
  expect(sandbox.applied()[`topic:${one.id}`]).toBeUndefined();

  await anna.get(path);
  await anna.press('confirm');
  await shows(anna, path, 'applied 1');
  expect(priorityOf(one)).toBe(to);
  const change = await pulling.run(['changes', 'list', '--source', 'mine.xlsx', '--json']);
  expect(JSON.parse(change.stdout)).toMatchObject({
    total: 1,
    changes: [{ requestedBy: 'anna', status: 'applied' }],
  });
  const result = await anna.ask(`${path}/result`);
  expect(result.headers.get('content-disposition')).toContain('mine.result.xlsx');
  const { columns, rows } = await readSheet({ bytes: await bytesOf(result), name: 'r.xlsx' });
  const results = rows.map(({ cells }) => cells[columns.indexOf('result')]);
  expect(results.filter((it) => it === 'applied')).toHaveLength(1);

  // Another person may undo it, after a preview.
  await ben.get(path);
  await ben.press('undo');
  expect(textOf(ben.page)).toContain('Undo of mine.xlsx');
  expect(textOf(ben.page)).toContain(`priority: ${to} → ${before}`.replaceAll('_', ' '));
  expect(priorityOf(one)).toBe(to);
  await ben.press('confirm');
  const undone = ben.path;
  await shows(ben, undone, 'applied 1');
  expect(priorityOf(one)).toBe(before);
  expect(textOf(await ben.get('/sheets'))).toMatch(/Undo of mine\.xlsx ben .* mine\.xlsx anna /);

  // The same file once more changes nothing, and says so.
  await anna.upload('mine.xlsx', bytes);
  expect(textOf(anna.page)).toContain('imported before 1 row (from the same file)');
  await terminate({ url, running });
});

it('leaves wrong rows out, says which, and refuses files that are not sheets', async () => {
  const bomb = zipSync({
    'content.xml': strToU8(`<o:content><o:spreadsheet><t:table>${' '.repeat(300_000_000)}`),
  });
  const { url, running } = await served();
  const anna = await Visitor.of(url, 'anna');
  const [, , one] = topics as [StoredTopic, StoredTopic, StoredTopic];
  await anna.upload('some.csv', `${changed(one)}${topics[3]?.id},urgent\nno-such-topic,high\n`);
  const shown = textOf(anna.page);
  expect(shown).toContain('Confirm 1 change, and leave 2 out');
  expect(shown).toContain('Row 3, priority "urgent"');
  expect(shown).toContain('Row 4, topic_id "no-such-topic"');
  const { path } = anna;
  await anna.press('confirm');
  await shows(anna, path, 'applied 1');
  expect(textOf(anna.page)).toMatch(/applied 1 2 rows left out/);

  const wrong: [name: string, bytes: Uint8Array | string, says: RegExp][] = [
    ['bomb.ods', bomb, /bomb\.ods .*(larger|more) than/],
    ['photo.xlsx', Buffer.from('ffd8ffe0000000', 'hex'), /photo\.xlsx/],
    ['list.csv', 'name,color\na,blue\n', /list\.csv .* columns: none can be changed/],
    ['empty.csv', '', /empty\.csv is empty/],
    ['<b>.csv', 'name\n', /<b>\.csv|&lt;b&gt;\.csv/],
    ['large.csv', randomBytes(20_000_001), /larger than 20 MB/],
  ];
  const before = readdirSync(join(pulling.dataDir, 'imports'));
  for (const [name, bytes, says] of wrong) {
    await anna.upload(name, bytes);
    expect([name, anna.status < 500 && anna.status >= 400]).toEqual([name, true]);
    expect(anna.page).not.toContain('<b>.csv');
    expect(textOf(anna.page)).toMatch(says);
  }
  await anna.get('/sheets');
  await anna.send('/sheets', {});
  expect(textOf(anna.page)).toContain('No file was chosen');
  expect(readdirSync(join(pulling.dataDir, 'imports'))).toEqual(before);
  await terminate({ url, running });
});

it('two people at once are both told, and neither wins by being later', async () => {
  const { url, running } = await served({ sendAfterConfirm: false });
  const [anna, ben] = [await Visitor.of(url, 'anna'), await Visitor.of(url, 'ben')];
  const [topic] = topics.slice(5) as [StoredTopic];
  const before = priorityOf(topic);
  const wishes = ['very_high', 'very_low'] as const;
  await anna.upload('anna.csv', `topic_id,priority\n${topic.id},${wishes[0]}\n`);
  await ben.upload('ben.csv', `topic_id,priority\n${topic.id},${wishes[1]}\n`);
  const paths = [anna.path, ben.path];
  // A pull holds the warehouse while both confirm, so neither is sent before the other one is queued.
  await holding(url, async () => {
    await anna.press('confirm');
    await ben.press('confirm');
    for (const one of [anna, ben])
      expect(textOf(one.page)).toContain('will be queued when nightly has ended');
  });
  for (const [visitor, path, who] of [
    [anna, paths[0], 'ben'],
    [ben, paths[1], 'anna'],
  ] as const) {
    await shows(visitor, path ?? '', 'conflict 1');
    expect(textOf(visitor.page)).toMatch(new RegExp(`${who} wants priority`));
  }
  expect(priorityOf(topic)).toBe(before);
  // What contradicts others is stored when it is confirmed, as what waits for a decision.
  await anna.upload('third.csv', `topic_id,priority\n${topic.id},${before === 'low' ? 'high' : 'low'}\n`);
  expect(textOf(anna.page)).toContain('1 change to confirm');
  await anna.press('cancel');

  // One of them decides, while a job runs; the other one stays in conflict.
  const { page, path } = ben;
  const change = /name="change" value="([^"]*)"/.exec(page)?.[1] ?? '';
  await holding(url, async () => {
    await ben.send(path, { action: 'retry', change });
    expect([ben.status, textOf(ben.page)]).toEqual([
      200,
      expect.stringContaining('a decision about it will be carried out in a moment'),
    ]);
  });
  await shows(ben, path, 'queued 1');
  await start(url, 'decisions');
  await shows(ben, path, 'applied 1');
  expect(priorityOf(topic)).toBe(wishes[1]);
  expect(textOf(await anna.get(paths[0] ?? ''))).toContain('conflict 1');
  expect(textOf(anna.page)).toContain('ben was preferred');
  // A decision about what has moved on since it was shown is not carried out.
  const stale = /name="change" value="([^"]*)@\d+"/.exec(anna.page)?.[1] ?? '';
  await anna.send(paths[0] ?? '', { action: 'drop', change: `${stale}@1` });
  await until(
    async () =>
      readdirSync(join(pulling.dataDir, 'imports')).map((name) =>
        readFileSync(join(pulling.dataDir, 'imports', name), 'utf8'),
      ),
    (texts) => texts.some((text) => text.includes('it has changed since it was shown')),
  );
  expect(textOf(await anna.get(paths[0] ?? ''))).toContain('conflict 1');
  await terminate({ url, running });
});

it('a confirmed preview sends what it showed, and nothing that a colleague has changed since', async () => {
  const { url, running } = await served();
  const anna = await Visitor.of(url, 'anna');
  const [one, two] = topics.slice(11) as [StoredTopic, StoredTopic];
  const [before, to] = [priorityOf(two), other(String(priorityOf(one)))];
  await anna.upload('plain.csv', `topic_id,priority\n${one.id},${to}\n${two.id},${before}\n`);
  expect(textOf(anna.page)).toContain('1 change to confirm');
  expect(textOf(anna.page)).toContain('unchanged 1 row (already up to date)');
  const { path } = anna;
  const fields = { priority: 'very_low' } as const;
  sandbox.change({ kind: 'patchTopic', topicId: two.id, fields });
  await start(url, 'nightly');
  await until(
    () => pulling.rows(`SELECT priority FROM topics WHERE id = '${two.id}'`),
    ([row]) => row?.priority === 'very_low',
  );
  await anna.press('confirm');
  await shows(anna, path, 'applied 1');
  expect([priorityOf(one), priorityOf(two)]).toEqual([to, 'very_low']);
  await terminate({ url, running });
});

it('what is confirmed while a sync runs is sent at once, and the sync goes on after it', async () => {
  const { url, running } = await served();
  const anna = await Visitor.of(url, 'anna');
  const [topic] = topics.slice(13) as [StoredTopic];
  await anna.upload('now.csv', changed(topic));
  const to = other(String(priorityOf(topic)));
  const { path } = anna;
  sandbox.addFaults([{ match: { route: 'companies' }, kind: 'slow', ms: 2000 }]);
  await start(url, 'nightly');
  const status = async () => (await (await anna.ask('/status.json')).json()) as { schedule: ScheduleView };
  await until(status, ({ schedule }) => schedule.running?.job === 'nightly');
  await anna.press('confirm');
  await shows(anna, path, 'applied 1');
  expect(priorityOf(topic)).toBe(to);
  const { schedule } = await until(status, ({ schedule: { jobs } }) =>
    jobs.some(({ name, last }) => name === 'nightly' && last?.outcome === 'done'),
  );
  sandbox.clearFaults();
  expect(schedule.history.map(({ message }) => message).join()).toContain('made room for what was confirmed');
  await until(
    () => pulling.rows(`SELECT priority FROM topics WHERE id = '${topic.id}'`),
    ([row]) => row?.priority === to,
  );
  await terminate({ url, running });
});

it('what was being sent when the service was killed is sent after the next start, without another push', async () => {
  let { url, running } = await served();
  const two = topics.slice(-2);
  const anna = await Visitor.of(url, 'anna');
  sandbox.addFaults([{ match: { route: 'update_topic' }, kind: 'hang', commit: true }]);
  await anna.upload('killed.csv', changed(...two));
  const { path } = anna;
  await anna.press('confirm');
  await until(
    async () => Object.values(sandbox.stats().routes.update_topic ?? {}).length,
    (count) => count > 0,
  );
  running.child.kill('SIGKILL');
  await running.ended;
  sandbox.clearFaults();
  ({ url, running } = await served());
  await shows(await Visitor.of(url, 'anna'), path, 'applied 2');
  for (const { id } of two) expect(sandbox.applied()[`topic:${id}`]).toEqual({ priority: 1 });
  await terminate({ url, running });
});

it('a restart and a kill lose nothing that was confirmed, and repeat nothing', async () => {
  let { url, running } = await served();
  const [one, two] = topics.slice(7) as [StoredTopic, StoredTopic];
  const anna = await Visitor.of(url, 'anna');
  await anna.upload('later.csv', changed(one, two));
  const { path } = anna;
  await terminate({ url, running });

  // The session is gone; the preview is not.
  ({ url, running } = await served({ sendAfterConfirm: false }));
  let again = anna.at(url);
  await again.get(path);
  expect(again.path).toBe(`/login?next=${encodeURIComponent(path)}`);
  await again.logIn('anna', undefined, path);
  expect(textOf(again.page)).toContain('2 changes to confirm');

  // A job holds the warehouse when it is confirmed, and the service is killed.
  await holding(url, async () => {
    await again.press('confirm');
    running.child.kill('SIGKILL');
    await running.ended;
  });
  ({ url, running } = await served());
  again = again.at(url);
  await again.logIn('anna', undefined, path);
  await shows(again, path, 'applied 2');
  await terminate({ url, running });

  // A kill right before it was stored that the changes are queued: the import is made again, and queues none of them.
  const record = join(pulling.dataDir, 'imports', `${path.split('/').at(-1)}.json`);
  writeFileSync(record, readFileSync(record, 'utf8').replace('"state":"done"', '"state":"confirmed"'));
  ({ url, running } = await served());
  await until(
    async () => readFileSync(record, 'utf8'),
    (text) => text.includes('"state":"done"'),
  );
  again = await Visitor.of(url, 'anna');
  expect(textOf(await again.get(path))).toMatch(/applied 2 .*Requested by anna/);
  for (const topic of [one, two]) expect(sandbox.applied()[`topic:${topic.id}`]).toEqual({ priority: 1 });
  await terminate({ url, running });
});

it('a proxy that is named says who it is; nobody else may', async () => {
  const header = {
    serve: {
      users: [{ name: 'Zoë', role: 'write' }],
      jobs: [],
      proxies: ['127.0.0.0/8'],
      userHeader: 'X-User',
    },
  };
  pulling.set(header);
  let proxied = await serve(pulling);
  const ask = (headers: Record<string, string>) =>
    fetch(`${proxied.url}/sheets`, { redirect: 'manual', headers });
  // As a proxy sends it: UTF-8, which fetch takes for bytes.
  const named = Buffer.from('Zoë').toString('latin1');
  const page = await ask({ 'x-user': named, 'x-forwarded-proto': 'https' });
  expect(page.status).toBe(200);
  expect(page.headers.getSetCookie().join()).toMatch(/Secure/);
  const text = textOf(await page.text());
  expect(text).toContain('Upload your changes');
  expect(text).not.toContain('Sign out');
  const reader = textOf(await (await ask({ 'x-user': 'Ida' })).text());
  expect(reader).toContain('Ida');
  expect(reader).not.toContain('Upload your changes');
  expect((await ask({})).status).toBe(303);
  await terminate(proxied);
  pulling.set({ serve: { ...header.serve, proxies: ['10.0.0.1'] } });
  proxied = await serve(pulling);
  expect((await ask({ 'x-user': named })).status).toBe(303);
  expect(textOf(await (await fetch(`${proxied.url}/login`)).text())).toContain('through the proxy');
  await terminate(proxied);
});
