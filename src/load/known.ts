import type { Child, Resources } from '../contract/resources.js';
import { makeOnce } from '../store/made.js';
import type { Session, Statements } from '../store/session.js';
import { listLiteral, literal, literals, sqlFile, substitute } from '../store/sql.js';
import type { CoverageRow, EntityRow, KnownRows } from './batch.js';
import type { Diff } from './diff.js';
import { readModels } from './models.js';

/**
 * The two tables that hold what is known (ops.entities, ops.coverage), as far as it follows from documents: what the items of
 * lists say that decides what is due, and marks on children that something else changed. A merge brings both up to date in the
 * transaction that stores its documents.
 */

const entityColumns = `list, entity_id AS "entityId", fields, is_whole AS "isWhole", company_id AS "companyId", company_no AS "companyNo",
  is_company_known AS "isCompanyKnown", epoch_ms(deleted_at) AS "deletedAt", deleted_reason AS "deletedReason",
  merged_into_id AS "mergedIntoId", unavailable_reason AS "unavailableReason", epoch_ms(unlisted_since) AS "unlistedSince",
  epoch_ms(asked_at) AS "askedAt", item_hash AS "itemHash"`;
const coverageColumns = `endpoint, entity_id AS "entityId", epoch_ms(fetched_at) AS "fetchedAt", answer_no AS "answerNo",
  asked_no AS "askedNo", touched, fingerprint, status, reason, error, attempts, run_id AS "runId", counters IS NOT NULL AS "isCounted",
  TRY_CAST(counters::JSON ->> 'named' AS BIGINT) AS named`;

/** What every item is read for: they order what is due, and say how much it is. */
const orderingFields = ['$.isVip', '$.lastSeenAt', '$.timeRangeEnd', '$.updatedAt', '$.messageCount'];

/** The JSON paths of the fields of a list's items that decide what is due of them, in the order of ops.entities.fields. */
export function fieldsOf({ children }: Pick<Resources, 'children'>, list: string): readonly string[] {
  const own = children.filter((child) => child.list.name === list);
  const members = children.flatMap((child) => (child.members?.list === list ? child.members.fields : []));
  return [...new Set([...orderingFields, ...own.flatMap(fieldsOfChild), ...members])];
}

function fieldsOfChild({ changeFields, moved }: Child): readonly string[] {
  return moved ? [...changeFields, moved.at, moved.unlessIs] : changeFields;
}

/** The rows of ops.entities of the items whose ids meet a condition, as SQL text. */
function entitiesSql(resources: Resources, inScope: string): string {
  const { lists, children } = resources;
  const queries = lists.map(({ name, presence, detail }) =>
    substitute(sqlFile('load/entities'), {
      list: literal(name),
      presence: literal(presence ?? ''),
      detail: literal(detail),
      paths: listLiteral(fieldsOf(resources, name)),
      whole: `${listLiteral(children.find((child) => child.name === detail)?.skippedWhenListHas ?? [])}::VARCHAR[]`,
      in_scope: inScope,
    }),
  );
  return queries.map((query) => `(${query})`).join('\nUNION ALL\n');
}

/** How many parts the items of all lists are divided into when all rows are made at once, so that each fits into memory. */
const parts = 16;

/**
 * Makes all of ops.entities, unless a merge has brought it up to date since it was made in the same way. Documents that
 * change otherwise, as when a person is forgotten, have it made again (`forgetMade`).
 */
export async function makeEntities(session: Session, resources: Resources): Promise<void> {
  const sql = (part: number) => entitiesSql(resources, `hash(documents.id) % ${parts} = ${part}`);
  await makeOnce(session, 'entities', [sql(0)], () =>
    session.transaction(async (tx) => {
      await tx.run('DELETE FROM ops.entities');
      const [size] = await tx.all<{ any: boolean }>('SELECT EXISTS (FROM raw.documents) AS any');
      if (size?.any !== true) return;
      for (let part = 0; part < parts; part += 1)
        await tx.run(`INSERT INTO ops.entities BY NAME ${sql(part)}`);
    }),
  );
}

/** Every row of what is known, or that of one entity with those that decide about it. */
export async function readKnown(
  statements: Pick<Statements, 'all'>,
  entityId: string | null = null,
): Promise<KnownRows> {
  const about = `WHERE $id::VARCHAR IS NULL OR entity_id = $id OR company_id = $id
    OR list = 'companies' AND entity_id IN (SELECT company_id FROM ops.entities WHERE list = 'people' AND entity_id = $id)`;
  const entities = await statements.all<EntityRow>(`SELECT ${entityColumns} FROM ops.entities ${about}`, {
    id: entityId,
  });
  const coverage = await statements.all<CoverageRow>(
    `SELECT ${coverageColumns} FROM ops.coverage
      WHERE $id::VARCHAR IS NULL OR entity_id IN (SELECT entity_id FROM ops.entities ${about})`,
    { id: entityId },
  );
  return { entities, coverage };
}

/** A change of children that no field of their parents' list items shows. */
interface MarkRule {
  /** The children that it marks. */
  readonly children: readonly string[];
  /** The kinds of documents that show it, when one is stored or deleted. */
  readonly shownBy: readonly string[];
  /** The entities whose children are marked, and the answer that shows it: sql/load/marks has a file for each. */
  readonly sql: string;
}

function markRules(resources: Resources, runId: string): MarkRule[] {
  const mark = (name: string, values: Readonly<Record<string, string>> = {}) =>
    substitute(sqlFile(`load/marks/${name}`), values);
  const merged = resources.lists.flatMap(({ name, presence, detail }) =>
    presence === null
      ? []
      : {
          children: resources.children.filter(({ list }) => list.name === name).map((child) => child.name),
          shownBy: [presence],
          sql: mark('merged', { presence: literal(presence), detail: literal(detail) }),
        },
  );
  const leftTopic = ['company_groups', 'person_groups'].map((child) => ({
    children: [child],
    shownBy: ['topic_groups', 'topics', 'topic', 'topic_presence'],
    sql: mark('left_topic', { child: literal(child) }),
  }));
  return [
    ...merged,
    ...leftTopic,
    { children: ['company_groups'], shownBy: ['person_companies'], sql: mark('joined') },
    { children: ['topic_people'], shownBy: ['person_identities'], sql: mark('accounts') },
    { children: ['company_groups'], shownBy: ['person_identities'], sql: mark('lost_accounts') },
    { children: ['topic_people'], shownBy: ['topic_persons'], sql: mark('returned') },
    { children: ['person_identities'], shownBy: ['topic_people'], sql: mark('moved_accounts') },
    { children: ['person'], shownBy: ['company_presence'], sql: mark('company_gone') },
    { children: ['company_history'], shownBy: ['company'], sql: mark('pushed', { run_id: literal(runId) }) },
  ];
}

/**
 * Brings what is known up to date with what a merge stores, and returns the rows that changed. Call it when the documents and
 * `coverage_now` are stored; it reads `writes`, `write_bodies` and `deletes` (see `diff`). `covered` are the children that were
 * asked for.
 */
export async function mergeKnown(
  tx: Statements,
  resources: Resources,
  found: Diff,
  covered: readonly string[],
  runId: string,
): Promise<KnownRows> {
  const changed = new Set(found.map(({ endpoint }) => endpoint));
  const kinds = kindsOfEntities(resources);
  const [any] = await tx.all<{ listed: boolean }>('SELECT EXISTS (FROM appended.listed) AS listed');
  const isShown = any?.listed || kinds.some(({ kind }) => changed.has(kind));
  const entities = isShown ? await mergeEntities(tx, resources, kinds) : [];
  // A list of conversations that is as it was shows, by being read again, that one which a company names is not in it.
  const isRead = (kind: string) => kind === 'topic_groups' && covered.includes(kind);
  const rules = markRules(resources, runId).filter(({ shownBy }) =>
    shownBy.some((kind) => changed.has(kind) || isRead(kind)),
  );
  const marks = rules.flatMap(({ children, sql }) =>
    children.map((child) => `SELECT ${literal(child)} AS endpoint, entity_id, answer_no FROM (${sql})`),
  );
  const coverage = await tx.all<CoverageRow>(`
    CREATE OR REPLACE TEMP TABLE marks_now AS
      SELECT endpoint, entity_id, max(answer_no) AS answer_no
        FROM (${[...marks, "SELECT '', '', 0 WHERE false"].join('\nUNION ALL\n')}) AS marks (endpoint, entity_id, answer_no)
       GROUP BY ALL;
    DELETE FROM marks_now WHERE EXISTS (
      FROM ops.coverage c WHERE c.endpoint = marks_now.endpoint AND c.entity_id = marks_now.entity_id
         AND greatest(c.asked_no, c.touched) >= marks_now.answer_no);
    UPDATE ops.coverage SET touched = m.answer_no FROM marks_now m
     WHERE coverage.endpoint = m.endpoint AND coverage.entity_id = m.entity_id;
    INSERT INTO ops.coverage BY NAME
      SELECT endpoint, entity_id, answer_no AS touched FROM marks_now ANTI JOIN ops.coverage USING (endpoint, entity_id);
    SELECT ${coverageColumns} FROM ops.coverage
     WHERE (endpoint, entity_id) IN (
       SELECT (endpoint, entity_id) FROM coverage_now UNION SELECT (endpoint, entity_id) FROM marks_now)`);
  return { entities, coverage };
}

/** A kind of document that says something of the items of a list: by their id, or as their part, by the id of its parent. */
interface KindOfEntity {
  readonly list: string;
  readonly kind: string;
  readonly as: 'own' | 'part';
}

function kindsOfEntities({ lists, embedded }: Resources): KindOfEntity[] {
  const { kinds: families } = readModels().families;
  return lists.flatMap(({ name: list }) => {
    const own = families.find((family) => family.includes(list)) ?? [list];
    const parts = Object.entries(embedded).flatMap(([kind, { parent, membersOf }]) =>
      parent === list && membersOf !== undefined ? kind : [],
    );
    return [
      ...own.map((kind) => ({ list, kind, as: 'own' as const })),
      ...parts.map((kind) => ({ list, kind, as: 'part' as const })),
    ];
  });
}

async function mergeEntities(
  tx: Statements,
  resources: Resources,
  kinds: readonly KindOfEntity[],
): Promise<EntityRow[]> {
  const sql = substitute(sqlFile('load/merge_entities'), {
    items: entitiesSql(resources, 'documents.id IN (SELECT entity_id FROM concerned)'),
    kinds: kinds.map(({ list, kind, as }) => listLiteral([list, kind, as])).join(', '),
    lists: literals(resources.lists.map(({ name }) => name)),
  });
  return tx.all<EntityRow>(`${sql}; SELECT ${entityColumns} FROM entities_now`);
}

/** The change fields that children were fetched with, of the children that are named: `endpoint`, a line end, and the entity. */
export async function storedCounters(
  statements: Pick<Statements, 'all'>,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (names.length === 0) return new Map();
  const rows = await statements.all<{ name: string; counters: string }>(
    `SELECT endpoint || chr(10) || entity_id AS name, counters FROM ops.coverage
      WHERE counters IS NOT NULL AND endpoint || chr(10) || entity_id IN (SELECT unnest($names::VARCHAR[]))`,
    { names },
  );
  return new Map(rows.map(({ name, counters }) => [name, counters]));
}
