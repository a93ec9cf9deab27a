import { minutesFor } from '../../api/budget.js';
import { type EntityType, fieldsOf, type Value, type Values } from '../fields.js';
import { isListed } from '../remote.js';
import type { ChangeKind, ImportRow, Preview, RowOutcome } from './report.js';

/** The settings that say what a push costs, in the shape of the configuration. */
export interface CostSettings {
  readonly rateLimit: { readonly requests: number; readonly windowMs: number };
  readonly api: { readonly paging: { readonly pageSize: number } };
  readonly push: { readonly companiesPerRequest: number };
}

/** A change that would be queued. */
export interface Planned {
  readonly wanted: Values;
  readonly base: Values;
  readonly baseFrom: 'file' | 'warehouse';
  readonly baseAt: string | null;
}

const none: Readonly<Record<RowOutcome, number>> = {
  queued: 0,
  not_queued: 0,
  unchanged: 0,
  duplicate: 0,
  imported_before: 0,
  conflict: 0,
  invalid: 0,
};

/** What an import would do, counted; `known` is how many topics or companies there are. */
export function previewOf(
  entityType: EntityType,
  planned: readonly Planned[],
  rows: readonly ImportRow[],
  superseded: number,
  known: number,
  settings: CostSettings,
): Preview {
  const counts = { ...none };
  for (const { outcome } of rows) counts[outcome] += 1;
  const requests = costOf(entityType, planned, known, settings);
  const file = planned.filter(({ baseFrom }) => baseFrom === 'file').length;
  const moments = planned.flatMap(({ baseFrom, baseAt }) =>
    baseFrom === 'warehouse' && baseAt ? [baseAt] : [],
  );
  const oldest = moments.reduce<string | null>(
    (first, at) => (first === null || at < first ? at : first),
    null,
  );
  return {
    rows: counts,
    changes: planned.length,
    kinds: kindsOf(entityType, planned),
    superseded,
    requests,
    minutes: minutesFor(requests.total, settings),
    base: { file, warehouse: planned.length - file, oldest },
  };
}

/** Each is read before it is sent: by itself, or with a page of the list where that is cheaper and shows enough. */
function costOf(
  entityType: EntityType,
  planned: readonly Planned[],
  known: number,
  { api, push }: CostSettings,
): Preview['requests'] {
  const listed = planned.filter(({ wanted }) => Object.keys(wanted).every((it) => isListed(entityType, it)));
  const pages = Math.max(1, Math.ceil(known / api.paging.pageSize));
  const reads = planned.length - listed.length + Math.min(listed.length, pages);
  const writes =
    entityType === 'topic' ? planned.length : Math.ceil(planned.length / push.companiesPerRequest);
  return { writes, reads, total: writes + reads };
}

function kindsOf(entityType: EntityType, planned: readonly Planned[]): ChangeKind[] {
  const kinds = new Map<string, ChangeKind>();
  for (const { wanted, base } of planned) {
    for (const { name, kind, allowed } of fieldsOf[entityType]) {
      if (wanted[name] === undefined) continue;
      const counted = kind === 'boolean' || allowed !== undefined;
      const from = counted ? shown(base[name]) : null;
      const to = counted ? shown(wanted[name]) : null;
      const key = JSON.stringify([name, from, to]);
      kinds.set(key, { field: name, from, to, count: (kinds.get(key)?.count ?? 0) + 1 });
    }
  }
  const order = fieldsOf[entityType].map(({ name }) => name);
  return [...kinds.values()].sort(
    (a, b) => order.indexOf(a.field) - order.indexOf(b.field) || b.count - a.count,
  );
}

function shown(value: Value | undefined): string {
  if (value === undefined) return '(not known)';
  return value === null || value === ''
    ? '(none)'
    : String(value).replace(/^(true|false)$/, (it) => it.toUpperCase());
}
