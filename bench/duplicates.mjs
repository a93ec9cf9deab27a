// How good the list of probable duplicates is: 2,000 topics, among them 150 pairs about one problem each, of which half are
// merged after the first pull. And how long 20,000 topics with as many words as people use take, on two threads.
import { readFileSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';
import { limited, makeDataDir, startSandbox, worker } from './processes.mjs';

const sizes = { topics: 2_000, duplicates: 150, people: 2_000, companies: 200, messages: 30_000 };

/** @param {{sizes: number[]}} options the first of the sizes is the seed */
export async function benchDuplicates({ sizes: [seed = 1] }) {
  /** @type {(path: string) => Promise<any>} */
  const built = (path) => import(new URL(`../dist/sandbox/world/${path}.js`, import.meta.url).href);
  const { planTopics } = await built('topics');
  const { worldSizes } = await built('types');
  /** @type {{first?: string, topic: {id: string}}[]} */
  const plans = planTopics(worldSizes.parse({ ...sizes, seed }), sizes.topics, 0);
  const pairs = plans.flatMap(({ first, topic }) =>
    first === undefined ? [] : [{ first, second: topic.id }],
  );
  const sandbox = await startSandbox({ ...sizes, seed });
  const data = makeDataDir();
  const env = limited(sandbox.env);
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
      await sandbox.post('/__sandbox/change', { kind: 'mergeTopics', sourceIds: [second], targetId: first });
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
  for (const name of [
    '0001_raw_and_ops',
    '0002_topics',
    '0003_conversations',
    '0004_people_and_companies',
    '0009_analysis',
  ])
    await connection.run(sql(`migrations/${name}`));
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
