import type { Check } from '../../app/doctor.js';
import { ExitCode } from '../../base/errors.js';
import { type Context, command, toggle } from '../command.js';
import { answer } from '../output.js';
import { programVersion, setUpAccess } from '../setup.js';
import { printable, wrap } from '../text/layout.js';

export const doctor = command({
  name: 'doctor',
  summary: 'Check settings, key, clock, disk, lock, paging and the warehouse',
  examples: [
    ['signalhouse doctor', 'One line per check, with what to do; makes two requests'],
    ['signalhouse doctor --json', 'The same as JSON'],
    ['signalhouse doctor --prove', 'Compare the API with what is assumed of it; forecast the first pull'],
  ],
  flags: {
    prove: toggle.describe('Check every assumption about the API: at most 100 GETs, changes nothing'),
  },
  async run({ prove }, context) {
    if (prove) return runProof(context);
    const { examine, exitCodeOf } = await import('../../app/doctor.js');
    const checks = await examine(context.sources, programVersion());
    const exitCode = exitCodeOf(checks);
    const result = { exitCode, checks: checks.map(({ exitCode: _, ...check }) => check) };
    return answer(context, result, () => checks.map(line).join('\n'), exitCode);
  },
});

async function runProof(context: Context): Promise<ExitCode> {
  const { prove } = await import('../../app/prove.js');
  const { proofText } = await import('../text/proof.js');
  const result = await prove(await setUpAccess(context));
  const isOpen = result.proof.some(({ verdict, handled }) => verdict === 'contradicted' && !handled);
  return answer(context, result, proofText, isOpen ? ExitCode.incomplete : ExitCode.done);
}

function line({ name, state, text, hint }: Check): string {
  const textLines = wrap(printable(text), 56);
  const hintLines = hint === null ? [] : wrap(printable(hint), 54).map((one) => `  ${one}`);
  const [first = '', ...rest] = [...textLines, ...hintLines];
  return [
    `${state.padEnd(4)}  ${name.padEnd(14)}  ${first}`,
    ...rest.map((one) => `${' '.repeat(22)}${one}`),
  ].join('\n');
}
