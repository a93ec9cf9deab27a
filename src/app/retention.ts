import { systemClock } from '../base/clock.js';
import { ageBy } from '../run/lifecycle.js';
import { ageParams, expiredSql } from '../warehouse/forget/expire.js';
import type { Setup } from './setup.js';
import { withFullSnapshot } from './snapshot.js';

export interface RetentionPreview {
  /** Before when each kind is too old; null where it never is. */
  readonly before: {
    readonly deleted: string | null;
    readonly messages: string | null;
    readonly people: string | null;
  };
  /** How many would lose their content, or their personal fields. */
  readonly messages: number;
  readonly people: number;
}

/**
 * What the next sync would drop by the settings of `retention`, or by other months; writes nothing. Throws StorageError when
 * nothing is published.
 */
export async function previewRetention(
  setup: Setup,
  asked: { readonly messagesMonths?: number | undefined; readonly peopleMonths?: number | undefined },
): Promise<RetentionPreview> {
  const { config, clock = systemClock } = setup;
  const { messagesMonths = config.retention.messagesMonths, peopleMonths = config.retention.peopleMonths } =
    asked;
  const age = ageBy({ ...config.retention, messagesMonths, peopleMonths }, new Date(clock.now()));
  const rows = await withFullSnapshot(setup, (snapshot) =>
    snapshot.rows<{ kind: string; found: number }>(
      `SELECT kind, count(DISTINCT id)::INTEGER AS found FROM (${expiredSql()}) GROUP BY kind`,
      ageParams(age),
    ),
  );
  const found = (kind: string) => rows.find((row) => row.kind === kind)?.found ?? 0;
  const iso = (at: Date | null) => at?.toISOString() ?? null;
  return {
    before: { deleted: iso(age.deleted), messages: iso(age.messages), people: iso(age.people) },
    ...{ messages: found('message'), people: found('person') },
  };
}
