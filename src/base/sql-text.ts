/** SQL text as DuckDB reads it, as far as finding the ends of statements needs it. */

/** What is not closed at the end of a text: a quoted text or a comment. */
type OpenAtEnd = "'" | '"' | '$' | '*';

/** A text cut at its semicolons. */
export interface SplitSql {
  /** The statements that end with a semicolon, without it. Comments stay in them; a statement of comments alone is left out. */
  readonly ended: readonly string[];
  /** The text after the last semicolon; empty when it is only blanks and comments. */
  readonly rest: string;
  readonly open: OpenAtEnd | undefined;
}

/** Cuts a text at the semicolons that are outside of quotes and comments. */
export function splitSql(sql: string): SplitSql {
  const ended: string[] = [];
  let start = 0;
  let hasCode = false;
  let open: OpenAtEnd | undefined;
  for (const part of partsOf(sql)) {
    if (part.open) open = part.open;
    if (part.kind === 'code' || part.kind === 'quoted') hasCode = true;
    if (part.kind !== 'semicolon') continue;
    if (hasCode) ended.push(sql.slice(start, part.from).trim());
    start = part.to;
    hasCode = false;
  }
  return { ended, rest: hasCode || open ? sql.slice(start).trim() : '', open };
}

/** Every statement of a text, also the last one without a semicolon. */
export function statementsIn(sql: string): string[] {
  const { ended, rest } = splitSql(sql);
  return rest === '' ? [...ended] : [...ended, rest];
}

/** A statement in one line, without comments. Line breaks within quotes stay. */
export function inOneLine(sql: string): string {
  let line = '';
  for (const { kind, from, to } of partsOf(sql)) {
    if (kind !== 'comment' && kind !== 'blank') line += sql.slice(from, to);
    else if (line !== '' && !line.endsWith(' ')) line += ' ';
  }
  return line.trimEnd();
}

interface Part {
  readonly kind: 'code' | 'quoted' | 'comment' | 'blank' | 'semicolon';
  readonly from: number;
  readonly to: number;
  /** Set when the part has no end. */
  readonly open?: OpenAtEnd;
}

const blank = /\s+/y;
const word = /[\p{L}\p{N}_]+/uy;
const dollarTag = /\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$/uy;

/** The parts of a text in order; blanks within quotes and comments are not parts of their own. */
function* partsOf(sql: string): Generator<Part, void, void> {
  let at = 0;
  while (at < sql.length) {
    const part = partAt(sql, at);
    yield part;
    at = part.to;
  }
}

function partAt(sql: string, from: number): Part {
  const found = (kind: Part['kind'], to: number, open?: OpenAtEnd): Part =>
    to < 0 ? { kind, from, to: sql.length, ...(open && { open }) } : { kind, from, to };
  const match = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = from;
    return pattern.exec(sql)?.[0];
  };
  const spaces = match(blank);
  if (spaces !== undefined) return found('blank', from + spaces.length);
  const two = sql.slice(from, from + 2);
  if (two === '--') {
    const length = sql.slice(from).search(/[\n\r]/);
    return found('comment', length < 0 ? sql.length : from + length);
  }
  if (two === '/*') return found('comment', endOfComment(sql, from), '*');
  // E'…' is the only text in which a backslash escapes a quote.
  if (two === "e'" || two === "E'") return found('quoted', endOfQuote(sql, from + 2, "'", true), "'");
  const one = sql[from];
  if (one === "'" || one === '"') return found('quoted', endOfQuote(sql, from + 1, one, false), one);
  const tag = match(dollarTag);
  if (tag !== undefined) {
    const end = sql.indexOf(tag, from + tag.length);
    return found('quoted', end < 0 ? -1 : end + tag.length, '$');
  }
  if (one === ';') return found('semicolon', from + 1);
  return found('code', from + (match(word)?.length ?? 1));
}

/** The place behind the closing quote; -1 when there is none. A doubled quote is a part of the text. */
function endOfQuote(sql: string, from: number, quote: string, escapes: boolean): number {
  for (let at = from; at < sql.length; at++) {
    if (escapes && sql[at] === '\\') at++;
    else if (sql[at] === quote && sql[at + 1] === quote) at++;
    else if (sql[at] === quote) return at + 1;
  }
  return -1;
}

/** Comments can be nested. */
function endOfComment(sql: string, from: number): number {
  let depth = 0;
  for (const { 0: mark, index } of sql.slice(from).matchAll(/\/\*|\*\//g)) {
    depth += mark === '/*' ? 1 : -1;
    if (depth === 0) return from + index + 2;
  }
  return -1;
}

/** Whether the values of a DuckDB type are numbers. */
export function isNumeric(type: string): boolean {
  return /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL\b.*)$/.test(type);
}
