import type { Proving } from '../../app/prove.js';
import { groupBy } from '../../base/group-by.js';
import { count, duration } from '../../base/units.js';
import { list, pairs, sections } from './layout.js';

type Proofs = Proving['proof'];

/** What was proved, for people: first what is otherwise than assumed. */
export function proofText({ requests, proof, forecast, before, file }: Proving): string {
  const earlier = new Map(before?.proof.map((one) => [one.id, one.verdict]));
  const of = (verdict: Proofs[number]['verdict']) => proof.filter((one) => one.verdict === verdict);
  // What could not be looked at in one of the two says nothing.
  const isChanged = ({ id, verdict }: Proofs[number]) =>
    ![undefined, 'undecidable', verdict].includes(earlier.get(id)) && verdict !== 'undecidable';
  const changed = proof.filter(isChanged);
  const contradicted = of('contradicted');
  // What the program handles by itself is told once.
  const told = contradicted.filter(({ id, handled }) => handled && earlier.get(id) === 'contradicted');
  const against = contradicted.filter((one) => !told.includes(one));
  const texts = against.map(({ id, statement, evidence, handled, otherwise }) => {
    const then = handled ? `Handled: ${otherwise}` : 'The program cannot handle it.';
    return `${id}: ${statement}. Found otherwise: ${evidence}. ${then}`.replaceAll('`', '');
  });
  const set = contradicted.flatMap(({ id, setting, evidence }) =>
    setting === null ? [] : `${setting} (${id}: ${evidence})`,
  );
  const open = [...groupBy(of('undecidable'), ({ evidence }) => evidence)];
  const { minutes, rows, megabytes } = forecast;
  return sections([
    [
      `The API behaves differently since ${before?.provedAt.slice(0, 10)}`,
      list(changed.map(({ id, verdict }) => `${id}: ${earlier.get(id)}, now ${verdict}`)),
    ],
    [
      'Contradicted',
      list(told.length > 0 ? [...texts, `As before, and handled: ${ids(told)}`] : texts) || 'nothing',
    ],
    ['Undecidable here', list(open.map(([why, all]) => `${why}: ${ids(all)}`))],
    ['Confirmed', list([ids(of('confirmed'))])],
    ['What to set', list(set) || 'nothing'],
    [
      'The first pull takes about',
      `${count(forecast.requests)} requests (${duration(minutes * 60_000)}), ${count(rows)} rows, ${count(megabytes)} MB of disk`,
    ],
    [
      'This proof',
      pairs([
        ['requests', requests],
        ['file', file ?? 'none: there is no data directory'],
      ]),
    ],
  ]);
}

function ids(proofs: Proofs): string {
  return proofs.map(({ id }) => id).join(', ');
}
