import { ExitCode, problemText } from '../base/errors.js';
import { tableWidth } from '../cli/output.js';
import { type EffectiveSetting, effectiveSettings, fileProblems } from '../config/load.js';
import { secretSources } from '../config/secrets.js';
import { sections, table } from '../view/text.js';
import { command, text } from './command.js';
import { fileChecks } from './context.js';

export const print = command({
  examples: [
    ['signalhouse config print', 'Of the file, a variable or a flag'],
    ['signalhouse config print --json | jq .settings', 'For a program'],
  ],
  input: {},
  async run(_flags, context) {
    const { sources } = context;
    const settings = effectiveSettings(sources).map(withoutPassword);
    const keyFile = settings.find(({ setting }) => setting === 'api.keyFile')?.value;
    const secrets = secretSources(sources, typeof keyFile === 'string' ? keyFile : undefined);
    return { settings, secrets };
  },
  show({ settings, secrets }) {
    const secretRows = secrets.map(({ secret, source }) => [secret, source ?? '(not set)']);
    return sections([
      ['Settings', settingsText(settings)],
      ['Secrets (never printed)', table(['secret', 'from'], secretRows)],
    ]);
  },
});

export const check = command({
  usage: '<file>',
  examples: [
    ['signalhouse config check worker.yaml', 'Each problem with its line'],
    ['signalhouse config check worker.yaml --json', 'The problems, as JSON'],
  ],
  input: { file: text.describe('A settings file') },
  async run({ file }, context) {
    const problems = fileProblems(file, { ...context.sources, ...(await fileChecks()) });
    return { file, problems };
  },
  show: ({ file, problems }) =>
    problems.length === 0 ? `${file}: no problem` : problems.map(problemText).join('\n'),
  exitCode: ({ problems }) => (problems.length === 0 ? ExitCode.done : ExitCode.usage),
});

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
