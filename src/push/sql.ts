import { readFileSync } from 'node:fs';

/** A query of sql/push, by name. */
export function pushSql(name: string): string {
  return readFileSync(new URL(`../../sql/push/${name}.sql`, import.meta.url), 'utf8');
}
