import type { Check } from '../../app/doctor.js';
import type { Proving } from '../../app/prove.js';
import { ExitCode } from '../../base/errors.js';
import { groupBy } from '../../base/group-by.js';
import { count, duration } from '../../base/units.js';
import { hanging, list, pairs, printable, sections, wrap } from '../../view/text.js';
import { command, toggle } from '../command.js';
import { answer } from '../output.js';
import { programVersion, setUpAccess } from '../setup.js';

export const doctor = command({
  name: 'doctor',
  summary: 'Check settings, key, clock, disk, lock, paging and the warehouse',
  examples: [
    ['signalhouse doctor', 'One line per check; two requests'],
    ['signalhouse doctor --json', 'The same as JSON'],
    ['signalhouse doctor --prove', 'Compare the API with what is assumed'],
  ],
  flags: {
    prove: toggle.describe('Check every assumption about the API: at most 100 GETs, changes nothing'),
  },
  async run({ prove }, context) {
    if (prove) {
      const { prove: proveAll } = await import('../../app/prove.js');
      const result = await proveAll(await setUpAccess(context));
      const isOpen = result.proof.some(({ verdict, handled }) => verdict === 'contradicted' && !handled);
      return answer(context, result, proofText, isOpen ? ExitCode.incomplete : ExitCode.done);
    }
    const { examine, exitCodeOf } = await import('../../app/doctor.js');
    const checks = await examine(context.sources, programVersion());
    const exitCode = exitCodeOf(checks);
    const result = { exitCode, checks: checks.map(({ exitCode: _, ...check }) => check) };
    return answer(context, result, () => checks.map(line).join('\n'), exitCode);
  },
});

function line({ name, state, text, hint }: Check): string {
  const hintLines = hint === null ? [] : hanging('  ', hint, 54);
  const [first = '', ...rest] = [...wrap(printable(text), 56), ...hintLines];
  return [
    `${state.padEnd(4)}  ${name.padEnd(14)}  ${first}`,
    ...rest.map((one) => `${' '.repeat(22)}${one}`),
  ].join('\n');
}

type Proofs = Proving['proof'];

/** What was proved, for people: first what is otherwise than assumed. */
function proofText({ requests, proof, forecast, before, file }: Proving): string {
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
