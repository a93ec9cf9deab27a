import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inOneLine, splitSql, statementsIn } from '../../../src/base/sql-text.js';
import { html } from '../../../src/view/html.js';

/** What a browser makes of escaped text. */
function read(text: string): string {
  const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => entities[name]!);
}

it('escapes every value, so that it reads as it was', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'<>&"\'=/ a;') }), (value) => {
      const { text } = html`<p title="${value}">${[value, [value]]}</p>`;
      const [, title, content] = /^<p title="([^"<>]*)">([^<>]*)<\/p>$/.exec(text)!;
      expect([read(title!), read(content!)]).toEqual([value, value + value]);
    }),
  );
});

it('leaves markup of its own as it is, and nothing for null', () => {
  const inner = html`<b>${'&'}</b>`;
  expect(html`<p>${inner}${null}${[inner, 0]}</p>`.text).toBe('<p><b>&amp;</b><b>&amp;</b>0</p>');
});

describe('statements end at semicolons', () => {
  it.each([
    ['SELECT 1', ['SELECT 1']],
    ['SELECT 1;', ['SELECT 1']],
    [' ;; SELECT 1 ;\n; SELECT 2', ['SELECT 1', 'SELECT 2']],
    ["SELECT ';', 'it''s;'; SELECT 2", ["SELECT ';', 'it''s;'", 'SELECT 2']],
    ['SELECT 1 AS "a;""b;"; SELECT 2', ['SELECT 1 AS "a;""b;"', 'SELECT 2']],
    ["SELECT E'a\\';b', 'c\\'; SELECT 2", ["SELECT E'a\\';b', 'c\\'", 'SELECT 2']],
    ['SELECT $$;$$, $tag$ ; $$ ; $tag$; SELECT 2', ['SELECT $$;$$, $tag$ ; $$ ; $tag$', 'SELECT 2']],
    ['SELECT $1; SELECT a$b; SELECT c$d', ['SELECT $1', 'SELECT a$b', 'SELECT c$d']],
    ['SELECT 1 /* ; /* ; */ ; */ + 1; SELECT 2', ['SELECT 1 /* ; /* ; */ ; */ + 1', 'SELECT 2']],
    ['SELECT 1 -- ; one\n+ 1; -- two ; three', ['SELECT 1 -- ; one\n+ 1']],
    ['-- nothing\n/* at; all */', []],
    ['', []],
  ])('%s', (sql, statements) => {
    expect(statementsIn(sql)).toEqual(statements);
  });

  it.each([
    ["SELECT 'a;", "'"],
    ['SELECT "a;', '"'],
    ['SELECT $x$ a; $$', '$'],
    ['SELECT 1 /* a; /* */', '*'],
    ['SELECT 1', undefined],
  ])('but not while a quote or comment is open: %s', (sql, open) => {
    expect(splitSql(`SELECT 0; ${sql}`)).toEqual({ ended: ['SELECT 0'], rest: sql, open });
  });

  it('in any text, nothing is lost but semicolons, blanks and comments', () => {
    const parts = fc.constantFrom(
      'a',
      "'x;'",
      '"y;"',
      ';',
      ' ',
      '\n',
      '--c;\n',
      '/*;*/',
      '$$;$$',
      '1',
      '-',
      '/',
      '$',
    );
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 12 }), (texts) => {
        const sql = texts.join('');
        const bare = (text: string) => inOneLine(text).replace(/[\s;]/g, '');
        expect(statementsIn(sql).map(bare).join('')).toBe(bare(sql));
      }),
    );
  });
});

it('a statement in one line has no comments, and its quoted texts as they are', () => {
  expect(inOneLine("-- why\nSELECT 'a -- b\nc',\n  1 /* x */\nFROM t")).toBe("SELECT 'a -- b\nc', 1 FROM t");
});
