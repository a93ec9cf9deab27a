import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { World } from '../../src/sandbox/world/types.js';

/** Strings that must be gone, and where they still are. */

/** Every string of a person that nobody else has, as the sandbox knows them: more than three characters each. */
export function stringsOfPerson(world: World, personId: string): string[] {
  const person = world.people.get(personId);
  if (!person) throw new Error(`there is no person ${personId}`);
  const authors = person.authorIds.flatMap((id) => world.authors.get(id) ?? []);
  const isTheirs = new Set(person.authorIds);
  const messages = [...world.messages.values()].filter(({ authorId }) => isTheirs.has(authorId));
  const history = world.history.get(`person:${personId}`) ?? [];
  const own = [
    person.displayName,
    person.primaryEmail,
    person.avatarUrl,
    person.description,
    person.title,
    ...Object.values(person.connections),
    ...authors.flatMap((one) => [one.displayName, one.sourceAuthorId, one.sourceAvatarUrl]),
    ...messages.flatMap((one) => [one.content, one.title, one.sourceUrl, one.sourceMessageId]),
    ...messages.flatMap((one) => one.quoteHighlights.map(({ content }) => content)),
    ...history.flatMap((one) => [...textsIn(one.changes), ...textsIn(one.previousValues)]),
  ];
  const others = JSON.stringify([
    [...world.people.values()].filter(({ id }) => id !== personId),
    [...world.authors.values()].filter(({ id }) => !isTheirs.has(id)),
    [...world.messages.values()].filter(({ authorId }) => !isTheirs.has(authorId)),
    [...world.companies.values()],
    [...world.topics.values()],
    [...world.channels.values()],
    [...world.members.values()],
    [...world.templates.values()],
    world.merges,
  ]);
  return unique(own, others);
}

/** The customer with the most accounts and messages. */
export function busiestPerson(world: World): string {
  const messages = (ids: readonly string[]) =>
    [...world.messages.values()].filter(({ authorId }) => ids.includes(authorId)).length;
  const [first] = [...world.people.values()]
    .filter(({ isStaff, isBot, companyId }) => !isStaff && !isBot && companyId !== null)
    .map(({ id, authorIds, primaryEmail }) => ({
      id,
      weight: messages(authorIds) + authorIds.length + (primaryEmail ? 10 : 0),
    }))
    .sort((a, b) => b.weight - a.weight);
  return first?.id ?? '';
}

/** The same of a company. */
export function stringsOfCompany(world: World, companyId: string): string[] {
  const company = world.companies.get(companyId);
  if (!company) throw new Error(`there is no company ${companyId}`);
  const history = world.history.get(`company:${companyId}`) ?? [];
  const own = [
    company.name,
    company.primaryDomain,
    company.logoUrl,
    ...Object.values(company.connections),
    ...company.identities.flatMap((one) => [one.platformId, one.platformUsername]),
    ...history.flatMap((one) => [...textsIn(one.changes), ...textsIn(one.previousValues)]),
  ];
  const others = JSON.stringify([
    [...world.companies.values()].filter(({ id }) => id !== companyId),
    [...world.topics.values()],
    [...world.messages.values()],
    [...world.channels.values()],
    // Also those of the company: the domain of their addresses is theirs.
    [...world.people.values()],
  ]);
  // The API's own ids stay.
  const ids = new Set([companyId, ...world.merges.flatMap(({ sources }) => sources.map(({ id }) => id))]);
  return unique(own, others).filter((one) => !ids.has(one));
}

function unique(own: readonly (string | null | undefined)[], others: string): string[] {
  const all = own.filter((one) => typeof one === 'string').filter((one) => one.length > 3);
  return [...new Set(all)].filter((one) => !others.includes(JSON.stringify(one).slice(1, -1)));
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}

/**
 * Where the strings are: the raw bytes of every file in the data directory, and every row of every table of its databases. One
 * line for each place.
 */
export async function placesOf(dataDir: string, strings: readonly string[]): Promise<string[]> {
  const places = new Set<string>();
  const wanted = strings.flatMap((one) => [
    { one, bytes: Buffer.from(one) },
    { one, bytes: Buffer.from(JSON.stringify(one).slice(1, -1)) },
  ]);
  const files = readdirSync(dataDir, { withFileTypes: true, recursive: true })
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath ?? one.path, one.name));
  for (const path of files) {
    const bytes = readFileSync(path);
    for (const { one, bytes: part } of wanted)
      if (bytes.includes(part)) places.add(`${relative(dataDir, path)}: ${one}`);
  }
  for (const file of files.filter((path) => path.endsWith('.duckdb'))) {
    const name = relative(dataDir, file);
    const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY', threads: '1' });
    const connection = await instance.connect();
    const tables = await connection.runAndReadAll(
      'SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal',
    );
    for (const [schema, table] of tables.getRows().map((row) => row.map(String))) {
      const rows = await connection.runAndReadAll(
        `SELECT to_json(t)::VARCHAR FROM "${schema}"."${table}" AS t`,
      );
      const all = rows
        .getRows()
        .map(([row]) => String(row))
        .join('\n');
      // JSON inside of JSON is not escaped again, but the texts in it are.
      for (const { one, bytes } of wanted)
        if (all.includes(bytes.toString()) || all.includes(JSON.stringify(bytes.toString()).slice(1, -1)))
          places.add(`${name} ${schema}.${table}: ${one}`);
    }
    connection.closeSync();
    instance.closeSync();
  }
  return [...places].sort();
}

/** The counts that figures rest on: rows of every table and view, and sums of what is counted. */
export async function countsOf(dataDir: string): Promise<Record<string, unknown>> {
  const instance = await DuckDBInstance.create(join(dataDir, 'signals.duckdb'), {
    access_mode: 'READ_ONLY',
    threads: '1',
  });
  const connection = await instance.connect();
  await connection.run("SET TimeZone = 'UTC'");
  const counts: Record<string, unknown> = {};
  const tables = await connection.runAndReadAll(
    `SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' AND table_name NOT LIKE '%\\_versions' ESCAPE '\\' ORDER BY ALL`,
  );
  for (const [table] of tables.getRows().map((row) => row.map(String))) {
    const [[rows] = []] = (await connection.runAndReadAll(`SELECT count(*) FROM "${table}"`)).getRows();
    counts[table ?? ''] = Number(rows);
  }
  for (const [name, sql] of Object.entries(figures)) {
    const found = await connection.runAndReadAll(`SELECT to_json(answer)::VARCHAR FROM (${sql}) AS answer`);
    counts[name] = found.getRows().map(([row]) => String(row));
  }
  connection.closeSync();
  instance.closeSync();
  return counts;
}

const figures: Readonly<Record<string, string>> = {
  // Not how they are known: the people of a company that was forgotten are asked for their own conversations.
  'conversations by person':
    'SELECT person_id, count(DISTINCT group_id) AS n FROM group_people GROUP BY ALL ORDER BY ALL',
  'authors by person': 'SELECT person_id, count(*) AS n FROM author_people GROUP BY ALL ORDER BY ALL',
  senders: 'SELECT count(*) AS n, count(*) FILTER (is_vip) AS vip FROM message_senders',
  backlog: 'SELECT topic_id, priority, lifecycle_state FROM backlog ORDER BY topic_id',
  'topics of companies': 'SELECT count(*) AS n FROM company_topics',
  'response times': 'SELECT count(*) AS n FROM response_times',
  people: 'SELECT id, message_count, conversation_count, company_id, is_vip FROM people ORDER BY id',
  companies: 'SELECT id, message_count, person_count, is_vip FROM companies ORDER BY id',
};
