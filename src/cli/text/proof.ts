import type { Proving } from '../../app/prove.js';
import { count, counted, duration } from '../../base/units.js';
import { list, pairs, sections } from './layout.js';

type Verdict = Proving['proof'][number]['verdict'];

/** What was proved, for people: first what is otherwise than assumed. */
export function proofText({ requests, proof, forecast, before, file }: Proving): string {
  const earlier = new Map(before?.proof.map((one) => [one.id, one.verdict]));
  const of = (verdict: Verdict) => proof.filter((one) => one.verdict === verdict);
  const contradicted = of('contradicted');
  // What the program handles by itself is told once.
  const told = contradicted.filter(({ id, handled }) => handled && earlier.get(id) === 'contradicted');
  const news = contradicted.filter((one) => !told.includes(one));
  const against = news.map(({ id, statement, evidence, handled, otherwise }) => {
    const then = handled ? `Handled: ${otherwise.replaceAll('`', '')}` : 'NOT handled by the program.';
    return `${id}: ${plain(statement)}. Seen: ${evidence}. ${then}`;
  });
  const known = told.length === 0 ? [] : [`as before, and handled: ${told.map(({ id }) => id).join(', ')}`];
  const reasons = [...new Set(of('undecidable').map(({ evidence }) => evidence))];
  const open = reasons.map(
    (reason) => `${reason}: ${ids(of('undecidable').filter(({ evidence }) => evidence === reason))}`,
  );
  const changed = proof.filter(({ id, verdict }) => (earlier.get(id) ?? verdict) !== verdict);
  const set = contradicted.flatMap(({ id, setting }) => (setting === null ? [] : `${setting} (${id})`));
  const since = before && `The API behaves differently since ${before.provedAt.slice(0, 10)}`;
  return sections([
    [
      since ?? '',
      changed.length === 0
        ? null
        : list(changed.map(({ id, verdict }) => `${id}: ${earlier.get(id)}, now ${verdict}`)),
    ],
    ['Contradicted', list([...against, ...known]) || 'nothing'],
    ['Undecidable here', list(open)],
    ['Confirmed', list([ids(of('confirmed'))])],
    ['What to set', list(set) || 'nothing'],
    ['The first pull takes about', forecastText(forecast)],
    [
      'Proof',
      pairs([
        ['requests', requests],
        ['file', file ?? 'not written: there is no data directory yet'],
      ]),
    ],
  ]);
}

function ids(all: Proving['proof']): string {
  return `${all.map(({ id }) => id).join(', ')}`;
}

function plain(statement: string): string {
  return statement.replaceAll('`', '').replace(/[.,:;]$/, '');
}

function forecastText({ requests, minutes, rows, megabytes }: Proving['forecast']): string {
  return pairs([
    ['requests', `${counted(requests, 'request')}, ${duration(minutes * 60_000)}`],
    ['rows', count(rows)],
    ['disk', `${count(megabytes)} MB`],
  ]);
}
