import { describe, expect, it } from 'vitest';
import { Metrics, ServiceMetrics, together } from '../../../../src/serve/http/metrics.js';
import { now, someFacts, someRun, someSchedule } from '../serving.js';

/** The lines of one metric, without its help, and without the organization, which each has. */
async function lines(metrics: Metrics, name: string, facts: Parameters<Metrics['render']>[0] = someFacts) {
  const text = await metrics.render(facts, someSchedule, now);
  const found = text
    .split('\n')
    .filter((line) => line.startsWith(`signalhouse_${name}{`) || line.startsWith(`signalhouse_${name} `));
  for (const line of found) expect(line).toContain('organization="acme"');
  return found.map((line) => line.replace(/,?organization="acme"/, '').replace('{}', ''));
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
    expect(await lines(metrics, 'api_rate_limited_total')).toEqual(['signalhouse_api_rate_limited_total 1']);
    const buckets = await lines(metrics, 'api_request_duration_seconds_bucket');
    expect(buckets).toContain(
      'signalhouse_api_request_duration_seconds_bucket{le="0.1",endpoint="topics"} 2',
    );
  });

  it('has a series for every job, outcome and endpoint from the start, so that the first failure is growth', async () => {
    const metrics = new Metrics();
    metrics.begin({ jobs: ['nightly', 'dump'], endpoints: ['topics', 'whoami'] });
    const runs = await lines(metrics, 'runs_total');
    expect(runs).toHaveLength(2 * 7);
    expect(runs).toContain('signalhouse_runs_total{job="dump",outcome="failed"} 0');
    expect(runs.every((line) => line.endsWith(' 0'))).toBe(true);
    expect(await lines(metrics, 'api_requests_total')).toEqual([
      'signalhouse_api_requests_total{endpoint="topics",status="none"} 0',
      'signalhouse_api_requests_total{endpoint="whoami",status="none"} 0',
    ]);
    expect(await lines(metrics, 'api_rate_limited_total')).toEqual(['signalhouse_api_rate_limited_total 0']);
    metrics.run({ ...someRun, job: 'dump', outcome: 'failed' });
    expect(await lines(metrics, 'runs_total')).toContain(
      'signalhouse_runs_total{job="dump",outcome="failed"} 1',
    );
  });
});

describe('the organization', () => {
  it('is a label of every series, also of the process: its name in the settings, else its slug, else its id', async () => {
    const labelOf = async (metrics: Metrics, facts: typeof someFacts | null) => {
      metrics.begin({ jobs: ['nightly'], endpoints: ['topics'] });
      metrics.served('/', 200, 1);
      const text = await metrics.render(facts, someSchedule, now);
      const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
      return new Set(series.map((line) => /[{,]organization="([^"]*)"/.exec(line)?.[1]));
    };
    const alone = () => new Metrics({ process: true, version: '1.2.3' });
    expect(await labelOf(alone(), someFacts)).toEqual(new Set(['acme']));
    expect(await labelOf(alone(), null)).toEqual(new Set([undefined]));
    const named = new Metrics({ process: true, organization: 'globex' });
    expect([...(await labelOf(named, null))].filter((one) => one !== undefined)).toEqual(['globex']);
    const { contents } = someFacts;
    const organization = { ...contents.organization!, slug: null };
    const unslugged = { ...someFacts, contents: { ...contents, organization } } as typeof someFacts;
    expect(await labelOf(alone(), unslugged)).toEqual(new Set(['org_1']));
  });

  it('of several in one process: each metric is in one piece, with the series of all', async () => {
    const service = new ServiceMetrics();
    const texts = ['acme', 'globex'].map((organization) => {
      const metrics = new Metrics({ service, organization });
      metrics.run(someRun);
      metrics.served('/', 200, 1);
      return metrics.render(someFacts, someSchedule, now);
    });
    const text = together([await service.text(), ...(await Promise.all(texts))]);
    const heads = text.split('\n').filter((line) => line.startsWith('# TYPE'));
    expect(new Set(heads).size).toBe(heads.length);
    expect(text).toContain(
      `# TYPE signalhouse_due gauge
signalhouse_due{organization="acme"} 1204
signalhouse_due{organization="globex"} 1204

`,
    );
    expect(text).toContain(
      'http_request_duration_seconds_count{route="/",status="200",organization="globex"} 1',
    );
  });
});

describe('what is', () => {
  it.each([
    ['budget_remaining_requests', ['signalhouse_budget_remaining_requests 83']],
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
      [
        `signalhouse_last_success_timestamp_seconds{job="nightly"} ${Date.parse(someRun.endedAt) / 1000}`,
        'signalhouse_last_success_timestamp_seconds{job="hourly-push"} 0',
      ],
    ],
    [
      'overdue_seconds',
      ['signalhouse_overdue_seconds{job="nightly"} 0', 'signalhouse_overdue_seconds{job="hourly-push"} 3900'],
    ],
    [
      'stale_share_objective',
      ['topic_groups', 'story'].map((name) => `signalhouse_stale_share_objective{resource="${name}"} 0.05`),
    ],
    [
      'checks',
      Object.entries({ all: 1_240, topic_groups: 640, story: 4 }).map(
        ([name, checks]) => `signalhouse_checks{resource="${name}"} ${checks}`,
      ),
    ],
    // The last run of the other one was skipped, which is no run.
    ['last_exit_code', ['signalhouse_last_exit_code{job="nightly"} 0']],
    ['running', ['signalhouse_running{job="nightly"} 0', 'signalhouse_running{job="hourly-push"} 1']],
  ])('shows %s', async (name, expected) => {
    expect(await lines(new Metrics({ version: '1.2.3' }), name)).toEqual(expected);
  });

  it('shows for how long the API has not answered, and the exit code of the last run', async () => {
    const outage = { since: '2026-11-20T10:11:00.000Z', until: '2026-11-20T10:41:00.000Z', reason: '503' };
    const refused = { ...someRun, outcome: 'failed', exitCode: 5 } as const;
    const jobs = [{ ...someSchedule.jobs[0]!, last: refused }];
    const waiting = { ...someSchedule, jobs, running: { ...someSchedule.running!, outage } };
    const text = await new Metrics().render(null, waiting, now);
    expect(text).toContain('signalhouse_api_unavailable_seconds 240\n');
    // Also between two tries.
    const tried = { ...jobs[0]!, unavailableSince: '2026-11-20T10:05:00.000Z' };
    const between = await new Metrics().render(null, { ...someSchedule, jobs: [tried], running: null }, now);
    expect(between).toContain('signalhouse_api_unavailable_seconds 600\n');
    expect(text).toContain('signalhouse_last_exit_code{job="nightly"} 5\n');
    expect(text).toContain('signalhouse_ready 0\n');
  });

  it('does not say that nothing is due of lists that were not read to their end', async () => {
    const { contents } = someFacts;
    const due = (left: object) =>
      lines(new Metrics(), 'due', {
        ...someFacts,
        contents: contents && {
          ...contents,
          left: {
            run_id: 'r',
            due: 0,
            requests: 0,
            minutes: 0,
            complete: false,
            is_pulled: true,
            first_requests: 0,
            ...left,
          },
        },
      });
    expect(await due({})).toEqual([]);
    expect(await due({ due: 7 })).toEqual(['signalhouse_due 7']);
    expect(await due({ complete: true })).toEqual(['signalhouse_due 0']);
  });

  it('keeps what strangers write in one piece', async () => {
    const metrics = new Metrics();
    const evil = 'a"} 1\nsignalhouse_due 0\\';
    const text = await metrics.render({ ...someFacts, queue: { [evil]: 1 } }, someSchedule, now);
    expect(text).toContain(
      'signalhouse_queue_changes{status="a\\"} 1\\nsignalhouse_due 0\\\\",organization="acme"} 1',
    );
  });
});
