import { ExitCode, problemText } from '../../base/errors.js';
import type { EffectiveSetting } from '../../config/load.js';
import { sections, table } from '../../view/text.js';
import { command, type Group, text } from '../command.js';
import { answer, tableWidth } from '../output.js';

const printConfig = command({
  name: 'print',
  summary: 'Print every setting in force, and where it comes from',
  examples: [
    ['signalhouse config print', 'Of the file, a variable or a flag'],
    ['signalhouse config print --json | jq .settings', 'For a program'],
  ],
  flags: {},
  async run(_flags, context) {
    const { sources } = context;
    const { effectiveSettings, loadConfig } = await import('../../config/load.js');
    const { secretSources } = await import('../../config/secrets.js');
    const settings = effectiveSettings(sources).map(withoutPassword);
    const keyFile = settings.find(({ setting }) => setting === 'api.keyFile')?.value;
    const secrets = secretSources(sources, typeof keyFile === 'string' ? keyFile : undefined);
    for (const warning of loadConfig(sources).warnings) process.stderr.write(`${warning}\n`);
    const secretRows = secrets.map(({ secret, source }) => [secret, source ?? '(not set)']);
    return answer(context, { settings, secrets }, () =>
      sections([
        ['Settings', settingsText(settings)],
        ['Secrets (never printed)', table(['secret', 'from'], secretRows)],
      ]),
    );
  },
});

const checkConfig = command({
  name: 'check',
  usage: '<file>',
  summary: 'Check a settings file: each problem with its line (exit 2)',
  examples: [
    ['signalhouse config check worker.yaml', 'Needs no key'],
    ['signalhouse config check worker.yaml --json', 'The problems, as JSON'],
  ],
  flags: { file: text.describe('A settings file') },
  async run({ file }, context) {
    const { fileProblems, missingKeyFiles } = await import('../../config/load.js');
    const { jobProblems, publishProblems } = await import('../../app/settings-problems.js');
    const checks = { checkJobs: jobProblems, checkPublish: publishProblems };
    const problems = fileProblems(file, { ...context.sources, ...checks });
    const exitCode = problems.length === 0 ? ExitCode.done : ExitCode.usage;
    const notes = missingKeyFiles(file, context.sources).map(
      (path) => `${path}, a key file, does not exist on this machine`,
    );
    const told = problems.length === 0 ? [`${file}: no problem`] : problems.map(problemText);
    return answer(context, { file, problems, notes }, () => [...told, ...notes].join('\n'), exitCode);
  },
});

export const config: Group = {
  name: 'config',
  summary: 'Show the settings that are in force, or check a file of them',
  commands: [printConfig, checkConfig],
  examples: [
    ['signalhouse config print', 'Every setting, and where it comes from'],
    ['signalhouse config check worker.yaml', 'Each problem of a file, with its line'],
  ],
};

/** An address may contain a user, a password, or a key in its query; the hash of a password can be guessed. */
function withoutPassword(one: EffectiveSetting): EffectiveSetting {
  const { value } = one;
  if (one.setting.endsWith('.passwordHash')) return { ...one, value: value === null ? null : '***' };
  if (typeof value !== 'string' || !/^https?:/i.test(value) || !URL.canParse(value)) return one;
  return { ...one, value: value.replace(/\/\/[^/?#]*@/, '//***@').replace(/[?#].*$/s, '?***') };
}

function settingsText(settings: readonly EffectiveSetting[]): string {
  const rows = settings.map(({ setting, value, from, source }) => [
    setting,
    value === null ? '(not set)' : typeof value === 'string' ? value : JSON.stringify(value),
    source ?? from,
  ]);
  const width = tableWidth();
  return table(['setting', 'value', 'from'], rows, width && width - 2);
}
