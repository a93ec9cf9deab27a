import { type Problem, UsageError } from '../../base/errors.js';
import type { Snapshot } from '../../warehouse/read/query.js';
import { type Form, keptNames, type ListColumn, quoted, typeOf } from './columns.js';

/** Which rows a list has. */
export type Chosen =
  | { readonly by: 'default' }
  /** A condition on the table topics (or companies). */
  | { readonly by: 'where'; readonly sql: string }
  /** A query that gives topic_id (or company_id), in the order in which the rows shall stand. */
  | { readonly by: 'query'; readonly sql: string };

export interface Choice {
  /** A query that gives `_id` and `_place`, and the columns below. */
  readonly sql: string;
  /** What a query gives beyond the id, to be looked at. */
  readonly extra: readonly ListColumn[];
}

const urgentFirst = {
  topic: `list_position(['very_high', 'high', 'default', 'low', 'very_low'], priority), message_count DESC NULLS LAST, id`,
  company: 'is_vip DESC NULLS LAST, message_count DESC NULLS LAST, id',
} as const;

/** Makes a query of what a person chose. Raises UsageError when it is not SQL, or does not give what is needed. */
export async function choose(snapshot: Snapshot, form: Form, chosen: Chosen): Promise<Choice> {
  const { entityType, table } = form;
  if (chosen.by === 'query') return chooseByQuery(snapshot, form, chosen.sql);
  const backlog = 'id IN (SELECT topic_id FROM backlog)';
  const condition = chosen.by === 'where' ? chosen.sql : entityType === 'topic' ? backlog : 'true';
  // By itself first: what DuckDB says is then about what the person wrote.
  await refusing('--where', () => snapshot.all(`SELECT id FROM ${table} WHERE (${condition}\n) LIMIT 0`));
  const place = `row_number() OVER (ORDER BY ${urgentFirst[entityType]})`;
  return { sql: `SELECT id AS _id, ${place} AS _place FROM ${table} WHERE (${condition}\n)`, extra: [] };
}

async function chooseByQuery(snapshot: Snapshot, form: Form, given: string): Promise<Choice> {
  const sql = given.trim().replace(/;\s*$/, '');
  const columns = await refusing('--query', () =>
    snapshot.all<{ column_name: string; column_type: string }>(`DESCRIBE (${sql}\n)`),
  );
  const id = columns.find(({ column_name: name }) => name.toLowerCase() === form.id);
  const kept = keptNames(form);
  const problems: Problem[] = columns.flatMap(({ column_name: name }) =>
    kept.has(name.toLowerCase())
      ? [
          {
            setting: '--query',
            problem: `its column ${name} has a name that the sheet needs: rename it with AS`,
          },
        ]
      : [],
  );
  if (!id) {
    const names = columns.map(({ column_name: name }) => name).join(', ');
    problems.push({ setting: '--query', problem: `must give a column ${form.id}; it gives ${names}` });
  }
  if (problems.length > 0 || !id) throw new UsageError('The query does not make a sheet.', problems);
  const extra = columns.flatMap(({ column_name: key, column_type: type }): ListColumn[] =>
    key === id.column_name
      ? []
      : [{ key, type: typeOf(type), width: 16, wrap: true, sql: `chosen.${quoted(key)}` }],
  );
  const numbered = `SELECT asked.*, asked.${quoted(id.column_name)}::VARCHAR AS _id, row_number() OVER () AS _place FROM (${sql}\n) AS asked`;
  // An id that comes twice would be two rows to edit, that contradict each other as soon as one is.
  const first = 'QUALIFY row_number() OVER (PARTITION BY _id ORDER BY _place) = 1';
  return { sql: `SELECT * FROM (${numbered}) WHERE _id IS NOT NULL ${first}`, extra };
}

async function refusing<T>(setting: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const { hint, message, cause } = error;
    throw new UsageError('The rows of the sheet cannot be chosen.', [{ setting, problem: message }], {
      hint,
      cause,
    });
  }
}
