import { describe, expect, it } from 'vitest';
import { tokensOfScript, tokensOfSql } from '../../scripts/house.mjs';

describe('The budget of the house', () => {
  it('counts code, not its format or its comments', () => {
    const dense = 'const a=[1,2];if(a)f({a,b:`x \u0024{a} y`})';
    const loose = `
      /** What it is. */
      const a = [
        1,
        2, // two
      ];
      if (a) f({
        a,
        b: \`x \${a} y\`,
      })`;
    expect(tokensOfScript(loose)).toBe(tokensOfScript(dense));
    expect(tokensOfSql('SELECT a\n  , b -- both\nFROM t')).toBe(tokensOfSql('SELECT a,b FROM t'));
  });

  it('counts text by its words, so that code cannot hide in it', () => {
    expect(tokensOfScript("'one two three'")).toBe(3);
    expect(tokensOfScript('`one \u0024{two} three four`')).toBe(4);
    expect(tokensOfScript('/a regular [/] expression/u')).toBe(1);
    expect(tokensOfSql("SELECT 'it''s one'")).toBe(4);
  });
});
