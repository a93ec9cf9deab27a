import { readFileSync } from 'node:fs';
import { text as textOf } from 'node:stream/consumers';
import { z } from 'zod';
import { ExitCode, messageOf, UsageError } from '../base/errors.js';
import { statementsIn } from '../base/sql-text.js';
import { count } from '../base/units.js';
import { answer, canAsk, print, tableWidth } from '../cli/output.js';
import type { Prompt, PromptOptions } from '../cli/prompt/prompt.js';
import { onDeath } from '../cli/signals.js';
import { answerFormats, isForPeople, printAnswer } from '../cli/text/answer.js';
import { relationDescription, relationList } from '../cli/text/relations.js';
import { recordRead } from '../privacy/audit.js';
import { withSnapshot } from '../read/snapshot.js';
import { SqlSession } from '../read/sql-session.js';
import { type Context, printing, text, whole } from './command.js';
import { type Setup, setUp } from './setup.js';

/** More rows are not readable; the formats for programs have no default limit. */
const tableLimit = 1_000;

export const sql = printing({
  usage: '[query]',
  examples: [
    ['signalhouse sql "SELECT * FROM backlog LIMIT 10"', 'Print a table'],
    ['signalhouse sql', 'Open a prompt; \\? shows help'],
    ['signalhouse sql "\\d topics"', 'Describe a table'],
    ['signalhouse sql -f weekly.sql --format csv', 'Run a file of SQL, print CSV'],
    ['signalhouse sql "FROM topics" --json | jq length', 'Print JSON'],
    ['echo "SHOW TABLES" | signalhouse sql -', 'Read the query from stdin'],
  ],
  input: {
    query: z
      .string()
      .optional()
      .describe(
        String.raw`The query, or \d or \d NAME; - reads it from stdin. Without one, a prompt opens on a terminal`,
      ),
    file: text.optional().meta({ alias: 'f', description: 'File that contains the query' }),
    format: z
      .enum(answerFormats, `must be one of ${answerFormats.join(', ')}`)
      .optional()
      .describe(
        'table, vertical, csv, json or markdown (default: a table; on a terminal vertical where its columns do not fit)',
      ),
    limit: whole()
      .optional()
      .describe(`Maximum number of rows (default for table and vertical: ${tableLimit})`),
  },
  async run({ query, file, format: asked, limit: most }, context) {
    const isShown = process.stdout.isTTY === true;
    const format = asked ?? (context.json ? 'json' : isShown ? 'auto' : 'table');
    const limit = most ?? (isForPeople(format) ? tableLimit : Number.POSITIVE_INFINITY);
    // The parser turns - into an empty query.
    const isInteractive = query === undefined && file === undefined && !context.json && canAsk();
    if (isInteractive) return openPrompt(await setUp(context), { format, limit });
    const [asksForTables, name] = /^\s*\\d(?:\s+(.*?))?\s*;?\s*$/.exec(query ?? '') ?? [];
    if (asksForTables !== undefined) return describe({ ...context, json: format === 'json' }, name);
    const source = await queryFrom(query, file);
    if (source.trim() === '') throw noQuery('is empty');
    if (statementsIn(source).length === 0) throw noQuery('contains no statement');
    const setup = await setUp(context);
    await withSnapshot(setup, async (snapshot) => {
      const release = onDeath(() => {
        snapshot.abandon();
        return true;
      });
      let answers = 0;
      let rows = 0;
      let note = '';
      try {
        for await (const one of snapshot.answers(source)) {
          // Several statements print several tables, but a data file holds one result.
          if (answers++ > 0 && !isForPeople(format))
            throw new UsageError(
              `The format ${format} can hold the result of one statement; only the first one was printed.`,
            );
          if (answers > 1) print('\n');
          const columns = tableWidth();
          const { printed, more } = await printAnswer(one, { format, limit, columns, write: print });
          rows += printed;
          if (more)
            note += `Only the first ${count(printed)} rows are shown; there are more (raise --limit).\n`;
        }
      } finally {
        if (answers > 0) recordRead(setup, { by: 'sql', tables: snapshot.tablesOf(source), rows });
        release();
        process.stderr.write(note);
      }
    });
    return ExitCode.done;
  },
});

/** What `\\d` and `\\d NAME` print, here and at the prompt. */
async function describe(context: Context, name: string | undefined): Promise<ExitCode> {
  const session = await SqlSession.open(await setUp(context));
  const width = tableWidth();
  try {
    if (name === undefined) return answer(context, await session.list(), (all) => relationList(all, width));
    return answer(context, await session.describe(name), (one) => relationDescription(one, width ?? 80));
  } finally {
    session.close();
  }
}

async function openPrompt(setup: Setup, options: PromptOptions): Promise<ExitCode> {
  const prompts = await import('../cli/prompt/prompt.js');
  const session = await SqlSession.open(setup);
  let prompt: Prompt | undefined;
  // The prompt takes Ctrl-C itself. Closing the window of the terminal is SIGHUP. That may happen as soon as the prompt is shown.
  const release = onDeath((signal) => {
    if (signal === 'SIGINT') return false;
    session.snapshot.abandon();
    try {
      prompt?.close();
    } catch {
      // The terminal is gone.
    }
    return true;
  });
  try {
    prompt = new prompts.Prompt(session, options);
    await prompt.run();
  } finally {
    release();
    session.close();
  }
  return ExitCode.done;
}

async function queryFrom(query: string | undefined, file: string | undefined): Promise<string> {
  if (query && file !== undefined) throw noQuery('is given twice: as an argument and with --file');
  if (query) return query;
  if (file !== undefined && file !== '-') {
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      throw new UsageError('The query cannot be read.', [{ setting: '--file', problem: messageOf(error) }]);
    }
  }
  if (process.stdin.isTTY) {
    if (query === undefined && file === undefined) throw noQuery('is missing');
    process.stderr.write('Type the query; Ctrl-D ends it.\n');
  }
  return textOf(process.stdin);
}

function noQuery(problem: string): UsageError {
  return new UsageError('There is no query to run.', [{ setting: 'query', problem }], {
    hint: 'Give it as an argument, with --file, or on stdin.',
  });
}
