import { keyed } from '../../src/contract/tables.js';

/** Asks the file that is followed. */
type Rows = <T>(sql: string) => Promise<T[]>;

/** Copies what changed since it last looked, as docs/other-tools.md says, and compares with the whole file. */
export class Follower {
  /** Rows as JSON by the JSON of their keys, of each table. */
  readonly #copies = new Map<string, Map<string, string>>();
  #lastRun: string | null = null;
  /** Rows that were marked as changed with the values that they had. */
  moved: string[] = [];

  async follow(rows: Rows): Promise<void> {
    const [run] = await rows<{ run_id: string | null }>('SELECT max(run_id) AS run_id FROM ops.runs');
    const known = await rows<{ run_id: string }>(
      `SELECT run_id FROM ops.runs WHERE run_id = '${this.#lastRun ?? ''}'`,
    );
    // A file that was restored, or that nobody read for long: everything is copied again.
    if (known.length === 0) this.#copies.clear();
    const since = known[0]?.run_id ?? '';
    this.moved = [];
    const removed = await rows<{ name: string; key: string[] }>(
      `SELECT table_name AS name, "key" FROM ops.removed_rows WHERE run_id >= '${since}'`,
    );
    for (const { name, key } of keyed()) {
      const copy = this.#copies.get(name) ?? new Map<string, string>();
      const gone = removed.filter((one) => one.name === name);
      const starts = new Set(gone.map((one) => JSON.stringify(one.key)));
      const length = gone[0]?.key.length ?? 0;
      for (const one of copy.keys())
        if (starts.has(JSON.stringify((JSON.parse(one) as string[]).slice(0, length)))) copy.delete(one);
      for (const row of await rowsOf(rows, name, key, `WHERE run_id >= '${since}'`)) {
        if (values(copy.get(row.key)) === values(row.text) && copy.get(row.key) !== row.text)
          this.moved.push(`${name} ${row.key}`);
        copy.set(row.key, row.text);
      }
      this.#copies.set(name, copy);
    }
    this.#lastRun = run?.run_id ?? null;
  }

  /** What the copy has otherwise than the file. */
  async differences(rows: Rows): Promise<string[]> {
    const found: string[] = [];
    for (const { name, key } of keyed()) {
      const copy = new Map(this.#copies.get(name));
      for (const row of await rowsOf(rows, name, key, '')) {
        const own = copy.get(row.key);
        if (own !== row.text) found.push(`${name} ${row.key} is ${row.text}, and ${own} in the copy`);
        copy.delete(row.key);
      }
      found.push(...[...copy.keys()].map((one) => `${name} ${one} is gone, and in the copy`));
    }
    return found;
  }
}

interface Row {
  readonly key: string;
  readonly text: string;
}

function rowsOf(rows: Rows, table: string, key: readonly string[], where: string): Promise<Row[]> {
  const parts = key.map((column) => `"${column}"::VARCHAR`).join(', ');
  return rows<Row>(
    `SELECT to_json([${parts}])::VARCHAR AS "key", to_json(${table})::VARCHAR AS text FROM ${table} ${where}`,
  );
}

/** A row without its marks. */
function values(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const { synced_at: _at, run_id: _run, ...rest } = JSON.parse(text) as Record<string, unknown>;
  return JSON.stringify(rest);
}
