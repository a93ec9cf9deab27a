import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import { PinoPretty } from 'pino-pretty';

export type Log = Logger;

/** Keys whose values never reach a log line, wherever they stand in the logged object. */
const secret = ['apiKey', 'authorization', 'Authorization', 'key', 'token', 'password'];
const redacted = secret.flatMap((name) => [name, `*.${name}`, `*.*.${name}`, `*.*.*.${name}`]);

/**
 * A logger on stderr: pretty on a terminal, one JSON object a line otherwise. `secrets` are replaced wherever their
 * text would appear in a line, so that even an error message that quotes a header cannot leak the key.
 */
export function createLog(options: {
  level: string;
  pretty: boolean;
  secrets?: readonly string[];
  /** Runs each write, for whoever draws on the same terminal and has to make room for it. */
  around?: ((write: () => void) => void) | undefined;
}): Log {
  const settings = {
    level: options.level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    redact: { paths: redacted, censor: '[redacted]' },
  };
  const target = options.pretty ? pinoPretty() : process.stderr;
  const around = options.around ?? ((write) => write());
  const placed = { write: (line: string) => around(() => void target.write(line)) };
  return pino(settings, withoutSecrets(placed, options.secrets ?? []));
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

/** Human-readable log lines on stderr, written synchronously so that none is lost when the process ends. */
function pinoPretty(): { write(text: string): unknown } {
  return PinoPretty({
    destination: 2,
    sync: true,
    colorize: process.stderr.isTTY === true && process.env.NO_COLOR === undefined,
    ignore: 'pid,hostname',
    translateTime: 'SYS:HH:MM:ss',
  });
}
