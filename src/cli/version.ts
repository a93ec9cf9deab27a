import { readFileSync } from 'node:fs';

/** The version of this program, from its package.json, which stands beside dist and src alike. */
export function programVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return String(version);
}
