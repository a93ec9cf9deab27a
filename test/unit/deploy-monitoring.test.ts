import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { Metrics } from '../../src/serve/http/metrics.js';
import { now, someFacts, someRun, someSchedule } from './serve/serving.js';

/** The rules and the dashboard in deploy against the metrics and the documentation. test/others/alerts runs them. */

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly runbook_url: string; readonly summary: string };
}
const rules: Rule[] = parse(read('deploy/prometheus/signalhouse.rules.yml')).groups[0].rules;
const dashboard = JSON.parse(read('deploy/grafana/signalhouse.json'));
const panels: { id: number; title: string; targets?: { expr: string }[] }[] = dashboard.panels;
const sections = [...read('docs/operations.md').matchAll(/^### (Signalhouse\w+)$/gm)].map(([, name]) => name);

/** Every metric that /metrics shows, with its labels. */
async function exposed(): Promise<Map<string, Set<string>>> {
  const metrics = new Metrics({ process: true, version: '1.2.3' });
  metrics.begin({ jobs: ['nightly'], endpoints: ['topics'] });
  metrics.request({ endpoint: 'topics', status: 200, ms: 5 });
  metrics.rows('topics', { new: 1, changed: 0, removed: 0 });
  metrics.run(someRun);
  metrics.served('/', 200, 1);
  const lake = { ...someSchedule.jobs[0]!, name: 'lake', run: 'lake' } as const;
  const schedule = { ...someSchedule, jobs: [...someSchedule.jobs, lake] };
  const text = await metrics.render(someFacts, schedule, now);
  const found = new Map<string, Set<string>>();
  for (const [, name = '', labels = ''] of text.matchAll(/^([a-z_]+)(\{.*\})? \S+$/gm)) {
    const names = found.get(name) ?? new Set(['instance', 'job']);
    // The name of a job of serve: Prometheus has a label `job` of its own.
    for (const [, label = ''] of labels.matchAll(/([a-z_]+)="/g))
      names.add(label === 'job' ? 'exported_job' : label);
    found.set(name, names);
  }
  return found;
}

const asked = [
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
];

it.each(asked)('%s asks for metrics and labels that there are: %s', async (_, expr) => {
  const metrics = await exposed();
  const names = [...expr.matchAll(/\b((?:signalhouse|process|nodejs)_[a-z_]+)(?:\{([^}]*)\})?/g)];
  for (const [, name = '', selector = ''] of names) {
    expect([name, metrics.has(name)]).toEqual([name, true]);
    for (const [, label = ''] of selector.matchAll(/([a-z_]+)\s*(?:=~|!=|!~|=)/g))
      expect([name, [...(metrics.get(name) ?? [])]]).toEqual([name, expect.arrayContaining([label])]);
  }
  expect(names.length + (expr.includes('up{') ? 1 : 0)).toBeGreaterThan(0);
});

describe('every alert', () => {
  it('names its organization, in its text and wherever it adds up or compares', () => {
    // Nothing is scraped then, of any organization.
    for (const { alert, expr, annotations } of rules.filter(({ alert }) => alert !== 'SignalhouseDown')) {
      expect([alert, annotations.summary]).toEqual([
        alert,
        expect.stringMatching(/^\{\{ with \$labels\.organization \}\}\[\{\{ \. \}\}\] \{\{ end \}\}/),
      ]);
      const together = [...expr.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].map(([, labels = '']) => labels);
      // The start of a process is of all its organizations.
      const ofProcess = expr.includes('process_start_time_seconds');
      for (const labels of ofProcess ? [] : together)
        expect([alert, labels]).toEqual([alert, expect.stringContaining('organization')]);
    }
  });

  it('has a section in docs/operations.md, in the same order, and links to it', () => {
    expect(rules.map(({ alert }) => alert)).toEqual(sections);
    expect(rules.map(({ annotations }) => annotations.runbook_url)).toEqual(
      sections.map((name) => `docs/operations.md#${name?.toLowerCase()}`),
    );
  });

  it('is tested in deploy/prometheus/signalhouse.test.yml, firing and not', () => {
    const { tests } = parse(read('deploy/prometheus/signalhouse.test.yml'));
    const checks: { alertname: string; exp_alerts?: unknown[] }[] = tests.flatMap(
      (test: { alert_rule_test: object[] }) => test.alert_rule_test,
    );
    for (const { alert } of rules) {
      const own = checks.filter(({ alertname }) => alertname === alert);
      expect([alert, own.some((one) => one.exp_alerts), own.some((one) => !one.exp_alerts)]).toEqual([
        alert,
        true,
        true,
      ]);
    }
  });
});
