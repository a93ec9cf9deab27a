import { describe, expect, it } from 'vitest';
import { Metrics } from '../../../../src/serve/http/metrics.js';
import { emptySchedule, now, someFacts, someRun, someSchedule } from '../serving.js';

/** The lines of one metric, without its help. */
async function lines(metrics: Metrics, name: string, facts: Parameters<Metrics['render']>[0] = someFacts) {
  const text = await metrics.render(facts, someSchedule, now);
  return text
    .split('\n')
    .filter((line) => line.startsWith(`signalhouse_${name}{`) || line.startsWith(`signalhouse_${name} `));
}

describe('what happened', () => {
  it('counts requests by endpoint and status, 429s, and how long they took', async () => {
    const metrics = new Metrics();
    metrics.request({ endpoint: 'topics', status: 200, ms: 120 });
    metrics.request({ endpoint: 'topics', status: 200, ms: 70 });
    metrics.request({ endpoint: 'topics', status: 429, ms: 3 });
    metrics.request({ endpoint: 'people', ms: 30_000 });
    expect(await lines(metrics, 'api_requests_total')).toEqual([
      'signalhouse_api_requests_total{endpoint="topics",status="200"} 2',
      'signalhouse_api_requests_total{endpoint="topics",status="429"} 1',
      'signalhouse_api_requests_total{endpoint="people",status="none"} 1',
    ]);
    expect(await lines(metrics, 'api_rate_limited_total')).toEqual([
      'signalhouse_api_rate_limited_total{endpoint="topics"} 1',
    ]);
    const buckets = await lines(metrics, 'api_request_duration_seconds_bucket');
    expect(buckets).toContain(
      'signalhouse_api_request_duration_seconds_bucket{le="0.1",endpoint="topics"} 2',
    );
  });

  it('counts runs by outcome, with their length unless they were skipped', async () => {
    const metrics = new Metrics();
    for (const run of [...someSchedule.history, someRun]) metrics.run(run);
    expect(await lines(metrics, 'runs_total')).toEqual([
      'signalhouse_runs_total{job="nightly",outcome="done"} 2',
      'signalhouse_runs_total{job="export",outcome="failed"} 1',
      'signalhouse_runs_total{job="hourly-push",outcome="skipped"} 1',
    ]);
    expect(await lines(metrics, 'run_duration_seconds_sum')).toEqual([
      'signalhouse_run_duration_seconds_sum{job="nightly",outcome="done"} 5020',
      'signalhouse_run_duration_seconds_sum{job="export",outcome="failed"} 4',
    ]);
  });

  it('counts rows by table and change', async () => {
    const metrics = new Metrics();
    metrics.rows('topics', { new: 3, changed: 2, removed: 0 });
    metrics.rows('topics', { new: 1, changed: 0, removed: 1 });
    expect(await lines(metrics, 'rows_total')).toEqual([
      'signalhouse_rows_total{table="topics",change="new"} 4',
      'signalhouse_rows_total{table="topics",change="changed"} 2',
      'signalhouse_rows_total{table="topics",change="removed"} 1',
    ]);
  });
});

describe('what is', () => {
  it.each([
    ['budget_remaining_requests', ['signalhouse_budget_remaining_requests 83']],
    ['due', ['signalhouse_due 1204']],
    [
      'queue_changes',
      ['queued', 'applied', 'conflict'].map(
        (status, index) => `signalhouse_queue_changes{status="${status}"} ${[12, 340, 2][index]}`,
      ),
    ],
    [
      'freshness_seconds',
      [
        'signalhouse_freshness_seconds{resource="topics"} 660',
        'signalhouse_freshness_seconds{resource="people"} 198900',
        'signalhouse_freshness_seconds{resource="stories"} 25500',
      ],
    ],
    [
      'last_success_timestamp_seconds',
      [`signalhouse_last_success_timestamp_seconds{job="nightly"} ${Date.parse(someRun.endedAt) / 1000}`],
    ],
    [
      'warehouse_bytes',
      [
        'signalhouse_warehouse_bytes{file="worker"} 48234496',
        'signalhouse_warehouse_bytes{file="published"} 31981568',
      ],
    ],
    ['running', ['signalhouse_running{job="nightly"} 0', 'signalhouse_running{job="hourly-push"} 1']],
    ['info', ['signalhouse_info{version="1.2.3"} 1']],
  ])('shows %s', async (name, expected) => {
    expect(await lines(new Metrics({ version: '1.2.3' }), name)).toEqual(expected);
  });

  it('is absent before there are facts, and gone with them', async () => {
    const metrics = new Metrics();
    expect(await lines(metrics, 'budget_remaining_requests', null)).toEqual([]);
    expect(await lines(metrics, 'budget_remaining_requests')).toHaveLength(1);
    await metrics.render(someFacts, someSchedule, now);
    const later = await metrics.render(
      { ...someFacts, queue: {}, contents: { ...someFacts.contents, left: null } },
      emptySchedule,
      now,
    );
    expect(later).not.toMatch(/^signalhouse_(queue_changes|due|running|last_success_timestamp_seconds)[ {]/m);
  });

  it('keeps what strangers write in one piece', async () => {
    const metrics = new Metrics();
    const evil = 'a"} 1\nsignalhouse_due 0\\';
    const text = await metrics.render({ ...someFacts, queue: { [evil]: 1 } }, someSchedule, now);
    expect(text).toContain('signalhouse_queue_changes{status="a\\"} 1\\nsignalhouse_due 0\\\\"} 1');
  });

  it('shows the process on request', async () => {
    const text = await new Metrics({ process: true }).render(null, emptySchedule, now);
    expect(text).toContain('process_resident_memory_bytes');
  });
});
