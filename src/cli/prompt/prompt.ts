import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { type REPLServer, Recoverable, start } from 'node:repl';
import { makeFolder } from '../../base/atomic-file.js';
import { splitSql } from '../../base/sql-text.js';
import { ago, counted, moment } from '../../base/units.js';
import type { SqlSession } from '../../read/sql-session.js';
import { errorText, reported } from '../failure.js';
import { print, tableWidth } from '../output.js';
import { type AnswerFormat, isForPeople, printAnswer } from '../text/answer.js';
import { relationDescription, relationList } from '../text/relations.js';
import { completions } from './completion.js';

/** How answers are shown. */
export interface PromptOptions {
  readonly format: AnswerFormat | 'auto';
  /** The most rows of an answer. */
  readonly limit: number;
}

const ready = 'signals=> ';

const help = String.raw`Statements end with ; and may have several lines. Nothing is written.
  \d          list tables, views and macros
  \d NAME     describe one: its columns, their types and what they mean
  \?          show this help
  \q          leave (also Ctrl-D)
Tab completes tables and columns. Ctrl-R searches what was entered before.
Ctrl-C stops the statement that is running, or clears what was entered.`;

/** The prompt of `signalhouse sql` on a terminal: statements and commands, until it is left. No error ends it. */
export class Prompt {
  readonly #session: SqlSession;
  readonly #options: PromptOptions;
  readonly #server: REPLServer;
  readonly #closed: Promise<void>;
  #isClosed = false;
  /** The statements and commands that run. */
  #running: Promise<void> = Promise.resolve();
  /** Statements and commands that are still to run: a paste brings several at once. */
  readonly #waiting: string[] = [];
  /** The lines of a statement that has no end yet. */
  #begun = '';
  /** Stops the statement that runs. */
  #stop: (() => void) | undefined;
  /** What Tab completes; read when it is needed, and again for another file. */
  #relations: Map<string, readonly string[]> | undefined;

  constructor(session: SqlSession, options: PromptOptions) {
    this.#session = session;
    this.#options = options;
    const { path, publishedAt } = session;
    print(path);
    print(`Published ${moment(publishedAt)} (${ago(publishedAt, Date.now())}), read-only. \\? shows help.`);
    this.#server = start({
      prompt: ready,
      ignoreUndefined: true,
      useGlobal: true,
      eval: (code, _context, _file, done) => this.#enter(code, done),
      completer: (line: string, done: (error: null, found: [string[], string]) => void) =>
        void this.#complete(line).then((found) => done(null, found)),
    });
    // Those of Node's own prompt read and write files.
    for (const name of Object.keys(this.#server.commands))
      Reflect.deleteProperty(this.#server.commands, name);
    this.#rememberEntries();
    this.#server.removeAllListeners('SIGINT').on('SIGINT', () => this.#interrupt());
    this.#closed = new Promise((resolve) => this.#server.once('exit', resolve));
    // The terminal is gone. An error that nothing takes would exit, and wait for the statement that runs.
    for (const source of [process.stdin, this.#server]) source.on('error', () => this.close());
  }

  /** Resolves when the person has left. */
  async run(): Promise<void> {
    await this.#closed;
    this.close();
    await this.#running;
  }

  /** Stops what runs, and gives the terminal back as it was. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.length = 0;
    this.#stop?.();
    this.#server.close();
  }

  /** Keeps the history in the state directory of XDG, for this user alone. Where that fails, for this session only. */
  #rememberEntries(): void {
    const { XDG_STATE_HOME: state = '', HOME: home } = process.env;
    const base = isAbsolute(state) ? state : join(home || homedir(), '.local', 'state');
    const folder = join(base, 'signalhouse');
    try {
      makeFolder(folder);
      this.#server.setupHistory(join(folder, 'sql_history'), () => undefined);
    } catch {
      // A home that is read-only, or none.
    }
  }

  /** Takes the input since the last statement ended. An unfinished statement comes again with the next line. */
  #enter(entered: string, done: (error: Error | null, result: undefined) => void): void {
    // Node 24 hands on a paste as it comes from a terminal, where Enter is a carriage return.
    const code = entered.replace(/\r\n?/g, '\n');
    const isCommand = code.trim().startsWith('\\');
    const { ended, rest } = splitSql(code);
    const isEnded = isCommand || rest === '';
    this.#begun = isEnded ? '' : code;
    if (!isEnded) return void done(new Recoverable(new SyntaxError('no end')), undefined);
    this.#waiting.push(...(isCommand ? [code.trim()] : ended));
    // The prompt comes again after the answer.
    this.#server.setPrompt('');
    done(null, undefined);
    this.#running = this.#running.then(() => this.#runWaiting());
  }

  #interrupt(): void {
    for (const name of ['e', 'u']) this.#server.write(null, { ctrl: true, name });
    print('^C');
    this.#waiting.length = 0;
    this.#begun = '';
    this.#server.clearBufferedCommand();
    if (this.#stop) this.#stop();
    else this.#server.displayPrompt();
  }

  async #runWaiting(): Promise<void> {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift())
      await this.#run(next);
    if (this.#isClosed) return;
    this.#server.setPrompt(ready);
    // Input that was typed while a statement ran is in the line already.
    this.#server.displayPrompt(true);
  }

  /** Runs a statement or command on the newest file. */
  async #run(text: string): Promise<void> {
    let isStopped = false;
    let stopping: NodeJS.Timeout | undefined;
    this.#stop = () => {
      isStopped = true;
      const interrupt = () => this.#session.snapshot.interrupt();
      interrupt();
      // DuckDB forgets an interruption that comes before it has started.
      stopping ??= setInterval(interrupt, 50);
    };
    try {
      if (await this.#session.refresh()) {
        this.#relations = undefined;
        print(`Reading the file that was published ${moment(this.#session.publishedAt)}.`);
      }
      const [, command, argument = ''] = /^(\\\S*)\s*(.*?)\s*;?$/.exec(text) ?? [];
      await (command === undefined ? this.#answer(text) : this.#command(command, argument));
    } catch (error) {
      if (!isStopped) print(errorText(reported(error), width(), ''));
    }
    clearInterval(stopping);
    this.#stop = undefined;
    if (isStopped) print('Stopped.');
  }

  async #command(name: string, argument: string): Promise<void> {
    if (name === '\\d' && argument === '') print(relationList(await this.#session.list(), width()));
    else if (name === '\\d') print(relationDescription(await this.#session.describe(argument), width()));
    else if (name === '\\q') this.close();
    else print(name === '\\?' ? help : `${name} is not a command of this prompt; \\? lists them.`);
  }

  async #answer(sql: string): Promise<void> {
    const { format, limit } = this.#options;
    const how = { format, limit, columns: width(), write: print };
    let rows = 0;
    for await (const answer of this.#session.snapshot.answers(sql)) {
      const { printed, more } = await printAnswer(answer, how);
      rows += printed;
      if (more) print(`(the first ${counted(printed, 'row')}; sql --limit N shows more)`);
      else if (isForPeople(format)) print(`(${counted(printed, 'row')})`);
    }
    this.#session.shown(sql, rows);
    print('\n');
  }

  async #complete(line: string): Promise<[string[], string]> {
    try {
      this.#relations ??= await this.#session.columnsByLabel();
      const after = this.#server.line.slice(this.#server.cursor);
      return completions(this.#begun + line, after, this.#relations);
    } catch {
      return [[], line];
    }
  }
}

function width(): number {
  return tableWidth() ?? 80;
}
