import type { EffectiveSetting } from '../../config/load.js';
import type { SecretSource } from '../../config/secrets.js';
import { command, type Group } from '../command.js';
import { answer, tableWidth } from '../output.js';
import { sections, table } from '../text/layout.js';

const printConfig = command({
  name: 'print',
  summary: 'Print every setting that is in force, and where it comes from; no secrets',
  examples: [
    ['signalhouse config print', 'Every setting: from the file, a variable, a flag or a default'],
    ['signalhouse config print --json | jq ".settings[] | select(.from != \\"default\\")"', 'What you set'],
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
    return answer(context, { settings, secrets }, configText);
  },
});

export const config: Group = {
  name: 'config',
  summary: 'Show the settings that are in force',
  commands: [printConfig],
  examples: [['signalhouse config print', 'Every setting, and where it comes from']],
};

/** An address may contain a user and a password; the hash of one can be guessed. */
function withoutPassword(one: EffectiveSetting): EffectiveSetting {
  const { value } = one;
  if (one.setting.endsWith('.passwordHash')) return { ...one, value: value === null ? null : '***' };
  if (typeof value !== 'string' || !/^(https?|postgres(ql)?):/i.test(value) || !URL.canParse(value))
    return one;
  const url = new URL(value);
  if (url.username === '' && url.password === '') return one;
  return { ...one, value: value.replace(/\/\/[^/?#]*@/, '//***@') };
}

function configText(found: {
  readonly settings: readonly EffectiveSetting[];
  readonly secrets: readonly SecretSource[];
}): string {
  const width = tableWidth();
  const settings = found.settings.map(({ setting, value, from, source }) => [
    setting,
    value === null ? '(not set)' : typeof value === 'string' ? value : JSON.stringify(value),
    source ?? from,
  ]);
  const secrets = found.secrets.map(({ secret, source }) => [secret, source ?? '(not set)']);
  return sections([
    ['Settings', table(['setting', 'value', 'from'], settings, width && width - 2)],
    ['Secrets (never printed)', table(['secret', 'from'], secrets)],
  ]);
}
