import type { RunDetails } from '../../base/facts.js';
import { count, duration } from '../../base/units.js';
import { storedRunView } from '../../view/run.js';
import { ageOf, clockOf, type Fact, type View } from '../../view/view.js';
import { outcomeBadge, type RunLine } from './runs.js';

/**
 * One run: what it did, what it cost, and what went wrong. Its summary is shown where this version of the program (`version`) stored
 * it; another may have stored other fields.
 */
export function runDetails(run: RunDetails, line: RunLine | null, version: string): View {
  const { run_id: id, program_version: storedBy, summary } = run;
  const stored = storedBy === version && summary !== null ? storedRunView(run.command, summary) : null;
  const query = `signalhouse sql "SELECT summary FROM ops.runs WHERE run_id = '${id}'"`;
  const facts = [...ownFacts(run, line), ...(stored?.facts ?? columnFacts(run))];
  return [
    { id: 'facts', heading: `Run ${id}`, blocks: [{ facts }] },
    ...(stored?.sections ?? []),
    { id: 'all', heading: 'Its whole summary', blocks: [{ commands: [query] }] },
  ];
}

function ownFacts(run: RunDetails, line: RunLine | null): Fact[] {
  const { started_at: startedAt, rows_new: added } = run;
  const outcome = line?.outcome ?? run.outcome;
  const [changed, removed] = [count(run.rows_changed ?? 0), count(run.rows_removed ?? 0)];
  return [
    ['outcome', [outcomeBadge(outcome), { note: run.error ?? line?.message ?? null }]],
    ['started', [clockOf(startedAt), { note: ['(', ageOf(startedAt), ')'] }]],
    ['started by', line?.job == null ? 'a command' : `job ${line.job} (${line.trigger})`],
    ['rows', added === null ? null : `${count(added)} new, ${changed} changed, ${removed} removed`],
    ['exit code', run.exit_code],
    ['version', run.program_version],
  ];
}

/** The facts of a run without a summary, from its row. */
function columnFacts({ started_at, ended_at, requests, rejected, left_due }: RunDetails): Fact[] {
  return [
    ['took', ended_at && duration(Math.max(0, Date.parse(ended_at) - Date.parse(started_at)))],
    ['requests', requests],
    ['rejected', rejected],
    ['left due', left_due],
  ];
}
