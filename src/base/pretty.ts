import { PinoPretty } from 'pino-pretty';

/** Human-readable log lines on stderr, written synchronously so that none is lost when the process ends. */
export function pinoPretty(): { write(text: string): unknown } {
  return PinoPretty({
    destination: 2,
    sync: true,
    colorize: process.stderr.isTTY === true && process.env.NO_COLOR === undefined,
    ignore: 'pid,hostname',
    translateTime: 'SYS:HH:MM:ss',
  });
}
