import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import { pinoPretty } from './pretty.js';

export type Log = Logger;

/** Keys whose values never reach a log line, wherever they stand in the logged object. */
const secret = ['apiKey', 'authorization', 'Authorization', 'key', 'token', 'password'];
const redacted = secret.flatMap((name) => [name, `*.${name}`, `*.*.${name}`, `*.*.*.${name}`]);

/**
 * A logger on stderr: pretty on a terminal, one JSON object a line otherwise. `secrets` are replaced wherever their
 * text would appear in a line, so that even an error message that quotes a header cannot leak the key.
 */
export function createLog(options: { level: string; pretty: boolean; secrets?: readonly string[] }): Log {
  const settings = {
    level: options.level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    redact: { paths: redacted, censor: '[redacted]' },
  };
  return pino(
    settings,
    withoutSecrets(options.pretty ? pinoPretty() : process.stderr, options.secrets ?? []),
  );
}

function withoutSecrets(
  target: { write(text: string): unknown },
  secrets: readonly string[],
): DestinationStream {
  const present = secrets.filter((text) => text.length >= 4);
  return {
    write: (line) =>
      void target.write(present.reduce((text, value) => text.replaceAll(value, '[redacted]'), line)),
  };
}

/** A logger that drops everything, for parts that run without one. */
export const silentLog: Log = pino({ level: 'silent' });
