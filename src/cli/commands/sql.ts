import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { ExitCode, messageOf, UsageError } from '../../base/errors.js';
import { count } from '../../base/units.js';
import { command } from '../command.js';
import { text, whole } from '../flags.js';
import { print } from '../output.js';
import { setUp } from '../setup.js';
import { answerFormats, printAnswer } from '../text/answer.js';

/** More rows than these are no table for people; the other formats have no limit of their own. */
const tableLimit = 1_000;

export const sql = command({
  name: 'sql',
  usage: '[query]',
  summary: 'Ask the published file with SQL; it can be read while a sync runs',
  positionals: { query: { type: 'string', describe: 'The query; - reads it from stdin' } },
  options: {
    file: { alias: 'f', type: 'string', requiresArg: true, describe: 'A file that holds the query' },
    format: { type: 'string', requiresArg: true, describe: 'table, csv, json or markdown' },
    limit: { type: 'number', requiresArg: true, describe: `Rows at most (a table: ${tableLimit})` },
  },
  examples: [
    ['signalhouse sql "SELECT * FROM backlog LIMIT 10"', 'A table'],
    ['signalhouse sql -f weekly.sql --format csv', 'A file of SQL, as CSV'],
    ['signalhouse sql "FROM topics" --json | jq length', 'For a program'],
    ['echo "SHOW TABLES" | signalhouse sql -', 'From stdin'],
  ],
  flags: z.object({
    query: z.string().optional(),
    file: text.optional(),
    format: z.enum(answerFormats, `must be one of ${answerFormats.join(', ')}`).optional(),
    limit: whole().optional(),
  }),
  async run({ query, file, format: asked, limit: most }, context) {
    const { ask } = await import('../../app/snapshot.js');
    const format = asked ?? (context.json ? 'json' : 'table');
    const limit = most ?? (format === 'table' ? tableLimit : Number.POSITIVE_INFINITY);
    const source = await queryFrom(query, file);
    if (source.trim() === '') throw noQuery('there is nothing in it');
    await ask(setUp(context), async (snapshot) => {
      let answers = 0;
      for await (const answer of snapshot.answers(source)) {
        if (answers++ > 0 && format !== 'table') throw oneAtATime(format);
        if (answers > 1) print('');
        const { printed, more } = await printAnswer(answer, format, limit);
        if (more) process.stderr.write(`The first ${count(printed)} rows; there are more (--limit).\n`);
      }
      if (answers === 0) throw noQuery('there is no statement in it');
    });
    return ExitCode.done;
  },
});

async function queryFrom(query: string | undefined, file: string | undefined): Promise<string> {
  if (query && file !== undefined) throw noQuery('it is given twice: on the command line and by --file');
  if (query) return query;
  if (file !== undefined && file !== '-') {
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      throw new UsageError('The query cannot be read.', [{ setting: '--file', problem: messageOf(error) }]);
    }
  }
  if (process.stdin.isTTY) throw noQuery('there is none');
  return readStdin();
}

async function readStdin(): Promise<string> {
  let read = '';
  for await (const piece of process.stdin.setEncoding('utf8')) read += piece;
  return read;
}

/** Several statements are several tables; a document of data holds one. */
function oneAtATime(format: string): UsageError {
  return new UsageError(
    `As ${format}, one statement is answered at a time; this was the first one's answer.`,
  );
}

function noQuery(problem: string): UsageError {
  return new UsageError('There is no query to ask.', [{ setting: 'query', problem }], {
    hint: 'Give it as an argument, with --file, or on stdin.',
  });
}
