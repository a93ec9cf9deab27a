import { createInterface, type Interface, type Key } from 'node:readline';
import type { DescribedRelation, ListedRelation, SqlSession } from '../../app/sql-session.js';
import { cut, widthOf } from '../../base/display-width.js';
import { splitSql } from '../../base/sql-text.js';
import { ago, counted, duration, moment } from '../../base/units.js';
import { type Output, pagedOutput } from '../pager.js';
import { errorText, reported } from '../run.js';
import { type AnswerFormat, answerFormats, isForPeople, printAnswer } from '../text/answer.js';
import { pad, printable, rowLines, wrap } from '../text/layout.js';
import { completions } from './completion.js';
import { History, HistorySearch } from './history.js';

export interface PromptOptions {
  readonly format: AnswerFormat | 'auto';
  /** The most rows of an answer. */
  readonly limit: number;
  readonly historyPath: string;
}

const help = String.raw`Statements end with ; and may have several lines. Tab completes tables, columns
and keywords. Ctrl-R searches what was entered before; again, further back.
Ctrl-C stops the statement that is running, or clears the line.
  \d             list tables and views      \d NAME       describe one
  .tables        their names                .schema NAME  the SQL that creates one
  ;  \g          run the statement          \G  \gx       the same, printed vertically
  \x             vertical, on or off        .mode FORMAT  choose the format
  .maxrows N     most rows of an answer     \timing       show times, on or off
  \c             read the newest file       \r            forget unfinished lines
  \?  help       show this help             \q            leave (also Ctrl-D, exit)
Formats: auto, ${answerFormats.join(', ')}. Auto prints rows vertically
whose columns do not fit. Nothing is written, and no other file is read.`;

/** Those that leave, and those that end a statement. */
const otherCommands = String.raw`\q .quit .exit \g \G \gx`.split(' ');
const commandsOnTables = [String.raw`\d`, '.schema', '.tables'];

/** What is typed: a line, Ctrl-C, or Ctrl-D. */
type Typed = { readonly line: string } | 'interrupt' | 'end';

/** The prompt of `signalhouse sql` on a terminal: statements and commands, until it is left. No error ends it. */
export class Prompt {
  readonly #session: SqlSession;
  readonly #history: History;
  readonly #terminal: Interface;
  readonly #typed: Typed[] = [];
  #wake: (() => void) | undefined;
  /** The lines of a statement that has no end yet. */
  #lines = '';
  #format: AnswerFormat | 'auto';
  #limit: number;
  #isTimed = false;
  /** Stops the statement that runs. */
  #stop: (() => void) | undefined;
  /** What the arrow keys go through. */
  #shownHistory: string[] = [];
  /** The search that Ctrl-R began, and what the one before looked for. */
  #search: HistorySearch | undefined;
  #lastWanted = '';
  /** What Tab completes; read when it is needed, and again for another file. */
  #relations: Map<string, readonly string[]> | undefined;

  constructor(session: SqlSession, options: PromptOptions) {
    this.#session = session;
    this.#format = options.format;
    this.#limit = options.limit;
    this.#history = new History(options.historyPath);
    this.#terminal = createInterface({
      input: process.stdin,
      output: process.stdout,
      history: [...this.#history.entries],
      historySize: 1_000,
      completer: (line: string, done: (error: null, found: [string[], string]) => void) =>
        void this.#complete(line).then((found) => done(null, found)),
    });
    // The terminal's own history has lines; ours has statements.
    this.#terminal.on('history', (lines) => {
      this.#shownHistory = lines;
      this.#showHistory();
    });
    this.#searchKeys();
    this.#terminal.on('line', (line) => this.#take({ line }));
    this.#terminal.on('SIGINT', () => this.#take('interrupt'));
    this.#terminal.on('close', () => this.#take('end'));
    // The terminal is gone: it can neither be read nor be given back as it was. An error that nobody takes would exit, and
    // wait for the statement that runs.
    process.stdin.on('error', () => this.#take('end'));
    this.#terminal.on('error', () => this.#take('end'));
  }

  /** Reads and runs until the person leaves. */
  async run(): Promise<void> {
    const { path, publishedAt } = this.#session;
    say(path);
    say(
      `Published ${moment(publishedAt)} (${ago(publishedAt, Date.now())}), read-only. \\? lists the commands.`,
    );
    for (;;) {
      const typed = await this.#next();
      if (typed === 'end') {
        process.stdout.write('\n');
        return;
      }
      if (typed === 'interrupt') this.#lines = '';
      else if (!(await this.#enter(typed.line))) break;
    }
    this.close();
  }

  /** Stops what runs, and gives the terminal back as it was. */
  close(): void {
    this.#stop?.();
    this.#terminal.close();
  }

  /** Sees each key before the terminal does, and keeps those of a search from it. */
  #searchKeys(): void {
    const [own] = process.stdin.listeners('keypress').slice(-1) as ((text?: string, key?: Key) => void)[];
    if (!own) return;
    const first = (text?: string, key: Key = {}) => {
      if (!this.#isSearching(text, key)) own(text, key);
    };
    process.stdin.off('keypress', own).on('keypress', first);
    this.#terminal.on('close', () => process.stdin.off('keypress', first));
  }

  /** Whether a key belongs to a search: it begins one, goes on with it, or ends it. Others end it and are the line's. */
  #isSearching(text: string | undefined, key: Key): boolean {
    const isControl = (name: string) => key.ctrl === true && key.name === name;
    const search = this.#search;
    if (!search) {
      // While a statement runs, what is typed is for later.
      if (!isControl('r') || this.#stop) return false;
      this.#search = new HistorySearch(this.#history.entries, this.#terminal.line);
      this.#showSearch(this.#search);
      return true;
    }
    if (isControl('r')) search.further(this.#lastWanted);
    else if (key.name === 'backspace' || isControl('h')) search.erase();
    else if (text !== undefined && !key.ctrl && !key.meta && /^[^\p{Cc}]+$/u.test(text)) search.type(text);
    else {
      const isAbandoned = isControl('g');
      if (isAbandoned) this.#endSearch(search.before);
      else this.#endSearch(search.line, search.column);
      return isAbandoned || key.name === 'escape';
    }
    this.#showSearch(search);
    return true;
  }

  #showSearch({ prompt, line, column }: HistorySearch): void {
    this.#terminal.setPrompt(prompt);
    this.#setLine(line, column);
  }

  #endSearch(line: string, column = line.length): void {
    this.#lastWanted = this.#search?.wanted || this.#lastWanted;
    this.#search = undefined;
    this.#terminal.setPrompt(this.#promptText());
    this.#setLine(line, column);
  }

  /** Puts a text into the line, and the cursor to a place in it. */
  #setLine(line: string, column: number): void {
    this.#terminal.write(null, { ctrl: true, name: 'e' });
    this.#terminal.write(null, { ctrl: true, name: 'u' });
    this.#terminal.write(line);
    // One step for a character, which may be two units.
    for (const _ of line.slice(column)) this.#terminal.write(null, { name: 'left' });
    this.#terminal.prompt(true);
  }

  /** What stands before the line: the quote that is open, if one is. */
  #promptText(): string {
    return this.#lines === '' ? 'signals=> ' : `signals${splitSql(this.#lines).open ?? '-'}> `;
  }

  #take(typed: Typed): void {
    if (typed === 'interrupt') {
      // The whole line is removed, and the prompt shown again below.
      this.#terminal.write(null, { ctrl: true, name: 'e' });
      this.#terminal.write(null, { ctrl: true, name: 'u' });
      process.stdout.write('^C\n');
      this.#typed.length = 0;
    }
    const isRunning = this.#stop !== undefined;
    if (typed === 'interrupt' || typed === 'end') this.#stop?.();
    // What stops a statement does nothing else. The end of the input is Ctrl-D, or that the terminal is gone.
    if (!(isRunning && typed === 'interrupt')) this.#typed.push(typed);
    this.#wake?.();
  }

  async #next(): Promise<Typed> {
    for (;;) {
      const next = this.#typed.shift();
      if (next !== undefined) return next;
      if (!this.#search) this.#terminal.setPrompt(this.#promptText());
      // What was typed while a statement ran is in the line already.
      this.#terminal.prompt(true);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Takes one line; false when it says to leave. */
  async #enter(line: string): Promise<boolean> {
    const isFirst = this.#lines.trim() === '';
    const isQuoted = splitSql(this.#lines).open !== undefined;
    if (isFirst && /^\s*(exit|quit)\s*;?\s*$/i.test(line)) return false;
    // psql's \g and \gx and mysql's \G end a statement as well.
    const ended = /^(.*?)\\(g|gx|G)\s*$/.exec(line);
    const isEnded = ended !== null && splitSql(this.#lines + ended[1]).open === undefined;
    if (!isQuoted && !isEnded && /^\s*\\/.test(line)) return this.#command(line);
    if (isFirst && /^\s*(\.[a-z]|help\s*;?\s*$)/i.test(line)) return this.#command(line);
    const entered = this.#lines + line;
    this.#lines += isEnded ? `${ended[1]};` : `${line}\n`;
    const { ended: statements, rest } = splitSql(this.#lines);
    if (statements.length > 0) {
      this.#remember(rest === '' ? entered : entered.slice(0, entered.lastIndexOf(rest)));
      this.#lines = rest === '' ? '' : `${rest}\n`;
      const format = isEnded && ended[2] !== 'g' ? 'vertical' : this.#format;
      for (const statement of statements)
        if (!(await this.#alone((output) => this.#answer(statement, format, output)))) break;
    } else if (rest === '') this.#lines = '';
    return true;
  }

  /** What each command does with what is typed behind it. */
  readonly #commands: Readonly<Record<string, (argument: string) => unknown>> = {
    '\\r': () => {
      this.#lines = '';
    },
    '\\x': (argument) => this.#setFormat(verticalMode(argument, this.#format)),
    '.mode': (argument) => this.#setFormat(argument.toLowerCase() || undefined),
    '\\timing': (argument) => this.#setTiming(argument),
    '.timer': (argument) => this.#setTiming(argument),
    '.maxrows': (argument) => this.#setLimit(argument),
    '\\c': () => this.#alone(async () => undefined, true),
    '.tables': (argument) => this.#alone((output) => this.#list(argument, output)),
    '\\d': (argument) => this.#alone((output) => this.#describe(kinds, argument, output)),
    '\\dt': (argument) => this.#alone((output) => this.#describe(['table'], argument, output)),
    '\\dv': (argument) => this.#alone((output) => this.#describe(['view', 'macro'], argument, output)),
    '.schema': (argument) => this.#alone((output) => this.#definition(argument, output)),
    '\\?': () => say(help),
    '.help': () => say(help),
    help: () => say(help),
  };

  /** Runs a command of the prompt; false when it says to leave. */
  async #command(line: string): Promise<boolean> {
    const [, name = '', argument = ''] = /^\s*(\\?[^\s;]+)\s*(.*?)\s*;?\s*$/.exec(line) ?? [];
    this.#remember(line);
    const key = name === '\\h' ? '\\?' : name.startsWith('.') ? name.toLowerCase() : name;
    if (['\\q', '.quit', '.exit'].includes(key)) return false;
    const run = this.#commands[key];
    if (run) await run(argument);
    else say(String.raw`${name} is not a command of this prompt; \? lists them.`);
    return true;
  }

  #remember(entered: string): void {
    this.#history.add(entered);
    this.#showHistory();
  }

  #showHistory(): void {
    this.#shownHistory.splice(0, this.#shownHistory.length, ...this.#history.entries);
  }

  #setFormat(wanted: string | undefined): void {
    const known = (['auto', ...answerFormats] as const).find((one) => one === wanted);
    if (known) this.#format = known;
    else if (wanted !== undefined)
      say(`${wanted} is not a format; there are auto, ${answerFormats.join(', ')}.`);
    if (known || wanted === undefined) say(`The format is ${this.#format}.`);
  }

  #setTiming(wanted: string): void {
    this.#isTimed = wanted === '' ? !this.#isTimed : wanted === 'on';
    say(`Times are ${this.#isTimed ? 'shown' : 'not shown'}.`);
  }

  #setLimit(wanted: string): void {
    const number = Number(wanted);
    const isNumber = Number.isSafeInteger(number) && number > 0;
    if (isNumber) this.#limit = number;
    if (!isNumber && wanted !== '') say(`${wanted} is not a number of rows.`);
    else say(`An answer shows at most ${counted(this.#limit, 'row')}.`);
  }

  /**
   * Runs a statement or command on the newest file (`isReopening`: opened again in any case): Ctrl-C stops it, and what is
   * typed meanwhile is read afterwards, unless a pager has the keys. False when it was stopped; then lines that were typed or pasted behind it are dropped.
   */
  async #alone(work: (output: Output) => Promise<void>, isReopening = false): Promise<boolean> {
    let isStopped = false;
    let stopping: NodeJS.Timeout | undefined;
    const interrupt = () => this.#session.snapshot.interrupt();
    this.#stop = () => {
      isStopped = true;
      interrupt();
      // DuckDB forgets an interruption that comes before it has started.
      stopping ??= setInterval(interrupt, 50);
    };
    this.#terminal.setPrompt('');
    const paged = pagedOutput({
      before: () => {
        this.#terminal.pause();
        process.stdin.setRawMode(false);
      },
      after: () => {
        process.stdin.setRawMode(true);
        this.#terminal.resume();
      },
    });
    const write = async (text: string) => !isStopped && (await paged.write(text));
    let failure: unknown;
    try {
      if (await this.#session.refresh(isReopening)) {
        this.#relations = undefined;
        say(`Reading the file that was published ${moment(this.#session.publishedAt)}.`);
      }
      await work({ columns: paged.columns, isPaging: false, write, end: () => paged.end() });
    } catch (error) {
      failure = error;
    }
    await paged.end();
    clearInterval(stopping);
    this.#stop = undefined;
    if (isStopped) say('Stopped.');
    else if (failure !== undefined) say(errorText(reported(failure), columns(), ''));
    return !isStopped;
  }

  async #answer(sql: string, format: AnswerFormat | 'auto', output: Output): Promise<void> {
    const started = performance.now();
    let answers = 0;
    let rows = 0;
    for await (const answer of this.#session.snapshot.answers(sql)) {
      answers++;
      const { printed, more } = await printAnswer(answer, { format, limit: this.#limit, output });
      rows += printed;
      if (more) await output.write(`(the first ${counted(printed, 'row')}; .maxrows N shows more)\n`);
      else if (isForPeople(format)) await output.write(`(${counted(printed, 'row')})\n`);
    }
    this.#session.shown(rows);
    if (answers === 0) await output.write('Done.\n');
    const ms = performance.now() - started;
    if (this.#isTimed) await output.write(`Time: ${ms < 10_000 ? `${Math.round(ms)} ms` : duration(ms)}\n`);
    await output.write('\n');
  }

  /** The tables, views and macros of these kinds whose names match a pattern such as `topic*`. */
  async #listed(pattern: string, kinds: readonly ListedRelation['kind'][]): Promise<ListedRelation[]> {
    const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, String.raw`\$&`));
    const matches = new RegExp(pattern === '' ? '' : `^${parts.join('.*')}$`, 'i');
    const all = await this.#session.list();
    return all.filter(({ label, kind }) => kinds.includes(kind) && matches.test(label.replace(/\(.*$/s, '')));
  }

  async #list(pattern: string, output: Output): Promise<void> {
    const found = await this.#listed(pattern, kinds);
    await output.write(found.length === 0 ? noTable(pattern) : `${relationNames(found, columns())}\n`);
  }

  async #describe(kinds: readonly ListedRelation['kind'][], wanted: string, output: Output): Promise<void> {
    if (wanted === '' || wanted.includes('*')) {
      const found = await this.#listed(wanted, kinds);
      await output.write(found.length === 0 ? noTable(wanted) : `${relationList(found, columns())}\n`);
      return;
    }
    const found = await this.#session.describe(wanted);
    await output.write(found ? `${relationDescription(found, columns())}\n` : noTable(wanted));
  }

  async #definition(wanted: string, output: Output): Promise<void> {
    if (wanted === '') return void (await output.write('Name a table: .schema NAME\n'));
    const found = await this.#session.definition(wanted);
    await output.write(found ? `${found.split('\n').map(printable).join('\n')}\n` : noTable(wanted));
  }

  async #complete(line: string): Promise<[string[], string]> {
    try {
      this.#relations ??= await this.#session.columnsByLabel();
      const after = this.#terminal.line.slice(this.#terminal.cursor);
      return completions(this.#lines, line, after, {
        relations: this.#relations,
        commands: [...Object.keys(this.#commands), ...otherCommands],
        ...{ commandsOnTables, formats: ['auto', ...answerFormats] },
      });
    } catch {
      return [[], line];
    }
  }
}

/** What `\\x` makes of the format. */
function verticalMode(argument: string, format: AnswerFormat | 'auto'): string {
  if (argument === '') return format === 'vertical' ? 'auto' : 'vertical';
  return { on: 'vertical', off: 'table' }[argument] ?? argument;
}

function noTable(wanted: string): string {
  return `There is no table, view or macro ${wanted}; \\d lists them.\n`;
}

function columns(): number {
  return process.stdout.columns || 80;
}

function say(text: string): void {
  if (text !== '') process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
}

const titles = { view: 'Views', macro: 'Table macros: FROM name(…)', table: 'Tables' } as const;
const kinds = ['view', 'macro', 'table'] as const;

/** Every table, view and macro with what it is for, a line each. */
function relationList(relations: readonly ListedRelation[], columns: number): string {
  const width = Math.max(0, ...relations.map(({ label }) => widthOf(label)));
  return byKind(relations, (all) =>
    all.map(({ label, summary }) =>
      cut(`  ${pad(printable(label), width)}  ${printable(summary)}`.trimEnd(), columns),
    ),
  );
}

/** Their names alone, in as many columns as fit. */
function relationNames(relations: readonly ListedRelation[], columns: number): string {
  const width = Math.max(0, ...relations.map(({ label }) => widthOf(label))) + 2;
  const across = Math.max(1, Math.floor((columns - 2) / width));
  return byKind(relations, (all) => {
    const down = Math.ceil(all.length / across);
    return Array.from({ length: down }, (_, row) =>
      `  ${all
        .filter((_one, index) => index % down === row)
        .map(({ label }) => pad(printable(label), width))
        .join('')}`.trimEnd(),
    );
  });
}

function byKind(
  relations: readonly ListedRelation[],
  lines: (all: readonly ListedRelation[]) => readonly string[],
): string {
  return kinds
    .map((kind) => ({ kind, all: relations.filter((one) => one.kind === kind) }))
    .filter(({ all }) => all.length > 0)
    .map(({ kind, all }) => [titles[kind], ...lines(all)].join('\n'))
    .join('\n\n');
}

const typeNames: Record<string, string> = {
  'TIMESTAMP WITH TIME ZONE': 'TIMESTAMPTZ',
  'TIMESTAMP WITH TIME ZONE[]': 'TIMESTAMPTZ[]',
};

/** The room for a comment, at least. */
const leastComment = 24;

/** What a table, view or macro is for, and its columns with types and comments. */
function relationDescription({ label, kind, comment, columns }: DescribedRelation, width: number): string {
  const head = wrap(
    printable(`${label} (${kind === 'macro' ? 'table macro' : kind}): ${comment ?? ''}`),
    width,
  ).join('\n');
  if (kind === 'macro') return head;
  const rows = columns.map(({ name, type, comment: meaning }) => ({
    name: printable(name),
    type: printable(typeNames[type] ?? type),
    meaning: printable(meaning ?? ''),
  }));
  const widest = (texts: readonly string[]) => Math.max(0, ...texts.map(widthOf));
  const nameWidth = widest(['column', ...rows.map(({ name }) => name)]);
  const typeWidth = Math.min(24, widest(['type', ...rows.map(({ type }) => type)]));
  const room = Math.max(leastComment, width - nameWidth - typeWidth - 4);
  const rule = [nameWidth, typeWidth, Math.min(room, 24)].map((one) => '-'.repeat(one));
  const lines = rows.flatMap(({ name, type, meaning }) => rowLines([[name], [type], wrap(meaning, room)]));
  const cells = [['column', 'type', 'meaning'], rule, ...lines];
  const texts = cells.map(([name = '', type = '', meaning = '']) =>
    `${pad(name, nameWidth)}  ${pad(type, typeWidth)}  ${meaning}`.trimEnd(),
  );
  return [head, '', ...texts].join('\n');
}
