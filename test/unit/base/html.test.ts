import fc from 'fast-check';
import { expect, it } from 'vitest';
import { html } from '../../../src/base/html.js';

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
