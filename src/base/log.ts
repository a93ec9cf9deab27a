import { type Logger, pino, stdTimeFunctions } from 'pino';

export type Log = Logger;

/** Properties whose values are never logged, down to the fourth level of the logged object. */
const secretNames = ['apiKey', 'authorization', 'Authorization', 'key', 'token', 'password'];
const redacted = secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`, `*.*.*.${name}`]);

/**
 * A logger on stderr: `pretty` for a terminal, otherwise one JSON object per line. `secrets` are replaced anywhere in a
 * line, so that even an error message that quotes a header cannot leak the key.
 */
export async function createLog(options: {
  level: string;
  pretty: boolean;
  /** May grow while the log is used. */
  secrets?: Iterable<string>;
  /** Wraps each write. A progress display on the same terminal uses it to make room for the line. */
  around?: ((write: () => void) => void) | undefined;
}): Promise<Log> {
  const settings = {
    level: options.level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    redact: { paths: redacted, censor: '[redacted]' },
  };
  const target = options.pretty ? await prettyOutput() : process.stderr;
  const around = options.around ?? ((write) => write());
  const write = (line: string) => {
    let text = line;
    for (const secret of options.secrets ?? [])
      if (secret.length >= 4) text = text.replaceAll(secret, '[redacted]');
    around(() => void target.write(text));
  };
  return pino(settings, { write });
}

/** A logger that writes nothing. */
export const silentLog: Log = pino({ level: 'silent' });

/** Readable log lines on stderr, written synchronously so that none is lost when the process ends. */
async function prettyOutput(): Promise<{ write(text: string): unknown }> {
  const { PinoPretty } = await import('pino-pretty');
  return PinoPretty({
    destination: 2,
    sync: true,
    colorize: process.stderr.isTTY === true && process.env.NO_COLOR === undefined,
    ignore: 'pid,hostname',
    translateTime: 'SYS:HH:MM:ss',
  });
}
