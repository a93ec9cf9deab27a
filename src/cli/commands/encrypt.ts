import { UsageError } from '../../base/errors.js';
import { bytes } from '../../base/units.js';
import { command, text, toggle, wait } from '../command.js';
import { answer } from '../output.js';
import { setUp } from '../setup.js';

export const encrypt = command({
  name: 'encrypt',
  summary: 'Encrypt the data directory, or change its key',
  examples: [
    ['openssl rand -base64 32 > key; chmod 600 key', 'Make a key; keep a copy'],
    ['SIGNALHOUSE_ENCRYPTION_KEY_FILE=key signalhouse encrypt', 'Encrypt what is there'],
    ['signalhouse encrypt --old-key-file key', 'Change the key'],
    ['signalhouse encrypt --off --old-key-file key', 'Decrypt it'],
  ],
  flags: {
    oldKeyFile: text.optional().describe('The file with the key that encrypts it now'),
    off: toggle.describe('Decrypt it; needs --old-key-file and no key in the settings'),
    wait,
  },
  async run({ oldKeyFile, off, wait }, context) {
    const { encryptDataDir } = await import('../../app/encrypt.js');
    const { readEncryptionKey } = await import('../../config/secrets.js');
    const setup = await setUp(context);
    const { config, progress } = setup;
    const old = oldKeyFile === undefined ? undefined : readEncryptionKey(oldKeyFile, '--old-key-file');
    if (old && 'problem' in old) throw new UsageError('The old key cannot be used.', [old]);
    checkKeys({ off, hasKey: config.encryptionKey !== undefined, hasOld: old !== undefined });
    progress?.phase('encrypt', null);
    const done = await encryptDataDir(setup, { old, wait }).finally(() => progress?.close());
    return answer(context, { encrypted: !off, ...done }, ({ published, left }) => {
      const what = off ? 'decrypted' : 'encrypted';
      return [
        `${config.dataDir} is ${what}; published ${published.path} (${bytes(published.bytes)})`,
        ...left.map(
          (file) =>
            `${file} is not ${what}${off ? '' : ' with this key'}: delete it when it is no longer needed`,
        ),
      ].join('\n');
    });
  },
});

/** Refuses what would encrypt with no key, or decrypt although the settings have one. */
function checkKeys({ off, hasKey, hasOld }: { off: boolean; hasKey: boolean; hasOld: boolean }): void {
  const setting = 'SIGNALHOUSE_ENCRYPTION_KEY_FILE';
  if (!off && !hasKey)
    throw new UsageError('There is no key to encrypt with.', [{ setting, problem: 'is not set' }], {
      hint: 'Make one with openssl rand -base64 32 > FILE, keep a copy of it, and set the variable to the file. To decrypt, add --off.',
    });
  if (off && hasKey)
    throw new UsageError(
      'A key is set, so the data directory stays encrypted.',
      [{ setting, problem: 'is set' }],
      { hint: 'Unset it, and name the file with --old-key-file.' },
    );
  if (off && !hasOld)
    throw new UsageError('There is no key to decrypt with.', [
      { setting: '--old-key-file', problem: 'is required with --off' },
    ]);
}
