// How good the list of probable duplicates is: 2,000 topics, among them 150 pairs about one problem each, of which half are
// merged after the first pull. And how long 20,000 topics with as many words as people use take, on two threads.
import { readFileSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';
import { limited, makeDataDir, worker } from './processes.mjs';

const sizes = { topics: 2_000, people: 2_000, companies: 200, messages: 30_000 };

/** Things that fail, each in the words of two people, and how: any two make a problem that both report. */
const things = [
  ['the CSV export', 'the spreadsheet download'],
  ['the sign-in page', 'the login form'],
  ['a webhook delivery', 'a call of our endpoint'],
  ['the push message', 'the notification on the phone'],
  ['the invoice', 'the monthly bill'],
  ['the search box', 'looking for items'],
  ['the weekly digest', 'the summary mail'],
  ['the API token', 'the access key'],
  ['the dashboard chart', 'the graph of the overview'],
  ['the guest role', 'the permission of visitors'],
  ['the Slack alert', 'the message in our channel'],
  ['the audit entry', 'the line of the log'],
  ['the imported attachment', 'the file that was brought along'],
  ['the due date', 'the deadline'],
  ['the custom field', 'the column of our own'],
];
const faults = [
  ['is empty for archived projects', 'has nothing of projects in the archive'],
  ['shows the old surname', 'still has the name from before the marriage'],
  ['comes twice on Mondays', 'is repeated at the start of the week'],
  ['ignores the time zone of Lisbon', 'is an hour off in Portugal'],
  ['breaks at the euro sign', 'cannot show the currency symbol'],
  ['stays white behind the proxy', 'shows a blank page in the company network'],
  ['forgets the filter', 'drops the selection that was made'],
  ['is refused because of its size', 'says it is too large'],
  ['names the previous assignee', 'goes to the person who had it before'],
  ['stops after a restart', 'is gone once the machine was switched off'],
];

/**
 * Gives 150 pairs of topics a problem each, and lets about half of the second one's messages be written by who wrote about
 * the first.
 * @param {any} world
 */
function makePairs({ topics, groups, messages, authors }) {
  const live = [...topics.values()].filter(
    ({ graphStatus, migrated, groupIds }) => graphStatus === 'active' && !migrated && groupIds.length > 0,
  );
  /** @type {(topic: any) => any[]} */
  const written = ({ groupIds }) =>
    groupIds.flatMap((/** @type {string} */ id) =>
      groups.get(id).messageIds.map((/** @type {string} */ one) => messages.get(one)),
    );
  return things.flatMap((thing, t) =>
    faults.map((fault, f) => {
      const [first, second] = live.splice(0, 2);
      for (const [at, topic] of [first, second].entries()) {
        topic.title = `${thing[at]} ${fault[at]}`;
        topic.summary = `Several customers report that ${topic.title}.`;
      }
      const writers = written(first).map(({ authorId }) => authorId);
      for (const [at, message] of written(second).entries()) {
        const source = authors.get(message.authorId).sourceName;
        const same = writers.find((id) => authors.get(id).sourceName === source);
        if ((at + t + f) % 2 === 0 && same !== undefined) message.authorId = same;
      }
      return { first: first.id, second: second.id };
    }),
  );
}

/** @param {{sizes: number[]}} options the first of the sizes is the seed */
export async function benchDuplicates({ sizes: [seed = 1] }) {
  /** @type {(path: string) => Promise<any>} */
  const built = (path) => import(new URL(`../dist/sandbox/${path}.js`, import.meta.url).href);
  const [{ generate, defaultSizes }, { startSandbox }] = await Promise.all([
    built('world/generate'),
    built('start'),
  ]);
  const world = generate({ ...defaultSizes, ...sizes, seed });
  const pairs = makePairs(world);
  const sandbox = await startSandbox({ world, rate: { requests: 1_000_000, windowMs: 1_000 } });
  const data = makeDataDir();
  const env = limited({ SIGNALHOUSE_BASE_URL: sandbox.baseUrl, SIGNALHOUSE_API_KEY: sandbox.apiKey });
  /** @param {string} sql @returns {Promise<any[]>} */
  const ask = async (sql) => (await worker(['sql', sql], env, data.dir)).report;
  try {
    await worker(['sync'], env, data.dir);
    const isOpen = `deleted_at IS NULL AND archived_at IS NULL AND superseded_at IS NULL
      AND detail_unavailable_reason IS NULL AND graph_status = 'active'`;
    const open = new Set((await ask(`SELECT id FROM topics WHERE ${isOpen}`)).map(({ id }) => id));
    const there = pairs.filter(({ first, second }) => open.has(first) && open.has(second));
    const merged = there.filter((_, at) => at % 2 === 0);
    for (const { first, second } of merged)
      sandbox.change({ kind: 'mergeTopics', sourceIds: [second], targetId: first });
    await worker(['sync'], env, data.dir);
    const key = (/** @type {string} */ one, /** @type {string} */ other) => [one, other].sort().join(' ');
    const listed = await ask(
      "SELECT id_1, id_2, outcome FROM duplicate_pairs WHERE entity_type = 'topic' ORDER BY score DESC, id_1, id_2",
    );
    const [{ sentence }] = await ask(
      "SELECT sentence FROM probable_duplicates_precision WHERE entity_type = 'topic'",
    );
    const known = new Set(there.map(({ first, second }) => key(first, second)));
    const left = new Set(
      there.filter((_, at) => at % 2 === 1).map(({ first, second }) => key(first, second)),
    );
    const all = listed.map(({ id_1, id_2 }) => key(id_1, id_2));
    const stillOpen = listed
      .filter(({ outcome }) => outcome === 'open')
      .map(({ id_1, id_2 }) => key(id_1, id_2));
    const rows = [
      ...curve('all pairs, as before the merges', all, known),
      ...curve('what is left to decide', stillOpen, left),
    ];
    return [...rows, { list: sentence, recall: '', pairs: '', precision: '' }, await scale()];
  } finally {
    await sandbox.stop();
    data.remove();
  }
}

/**
 * The precision of a list where it has found a share of the pairs.
 * @param {string} list @param {string[]} listed @param {Set<string>} pairs
 */
function curve(list, listed, pairs) {
  return [0.3, 0.4, 0.5, 0.6].map((recall) => {
    let [hits, at] = [0, 0];
    while (at < listed.length && hits < recall * pairs.size) if (pairs.has(listed[at++] ?? '')) hits++;
    const isFound = hits >= recall * pairs.size;
    return { list, recall, pairs: pairs.size, precision: isFound ? hits / at : 'not reached' };
  });
}

/** 20,000 topics of 40 words each, by Zipf's law from 200,000, in which 60,000 people take part. */
async function scale() {
  const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
  const connection = await instance.connect();
  const sql = (/** @type {string} */ path) =>
    readFileSync(new URL(`../sql/${path}.sql`, import.meta.url), 'utf8');
  const built = (/** @type {string} */ file) => import(new URL(`../dist/load/${file}`, import.meta.url).href);
  const { schemaSql } = await built('ddl.js');
  const { readModels } = await built('models.js');
  for (const statement of schemaSql(readModels())) await connection.run(statement);
  const word = "'w' || substr(md5(floor(exp(random() * ln(200000)))::INT::VARCHAR), 1, 7)";
  const day = "TIMESTAMPTZ '2026-01-01' + INTERVAL 1 DAY *";
  await connection.run(`SELECT setseed(0.5);
    INSERT INTO topics (id, title, summary, keywords, created_at)
    SELECT md5(t::VARCHAR), string_agg(w, ' ') FILTER (n <= 8), string_agg(w, ' ') FILTER (n > 8), list(w) FILTER (n > 36),
      ${day} any_value(t % 300)
    FROM (SELECT t, n, ${word} AS w FROM range(20000) a(t), range(40) b(n)) GROUP BY t;
    INSERT INTO people (id, display_name, company_id)
    SELECT p::VARCHAR, 'name ' || p, floor(exp(random() * ln(5000)))::INT::VARCHAR FROM range(60000) r(p);
    INSERT INTO groups (id, start_timestamp) SELECT g::VARCHAR, ${day} (g % 300) FROM range(80000) r(g);
    INSERT INTO topic_group_versions (topic_id, group_id, reason) SELECT md5((g % 20000)::VARCHAR), g::VARCHAR, 'new' FROM range(80000) r(g);
    INSERT INTO group_people (group_id, person_id)
    SELECT DISTINCT g::VARCHAR, floor(random() * 60000)::INT::VARCHAR FROM range(80000) a(g), range(4) b(k)`);
  const started = performance.now();
  await connection.run(`CREATE TABLE pairs AS ${sql('models/duplicate_pairs')}`);
  const seconds = (performance.now() - started) / 1000;
  const found = await connection.runAndReadAll('SELECT count(*)::INT AS pairs FROM pairs');
  return {
    list: `20,000 topics: ${seconds.toFixed(1)} s`,
    recall: '',
    pairs: String(found.getRowsJS()[0]?.[0]),
    precision: '',
  };
}
