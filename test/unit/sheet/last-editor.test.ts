import { expect, it } from 'vitest';
import { readBytes, textRow, workbookFiles, zipped } from './support.js';

const rows = `${textRow(1, 'topic_id')}${textRow(2, 't1')}`;
const core = (name: string) =>
  `<cp:coreProperties xmlns:cp="x" xmlns:dc="y"><dc:creator>Somebody else</dc:creator><cp:lastModifiedBy>${name}</cp:lastModifiedBy></cp:coreProperties>`;
const editorOf = async (properties: Record<string, string>) =>
  (await readBytes(zipped({ ...workbookFiles({ rows }), ...properties }))).lastEditor;
const content =
  '<o:content><o:spreadsheet><t:table><t:table-row><t:table-cell><x:p>topic_id</x:p></t:table-cell></t:table-row></t:table></o:spreadsheet></o:content>';

it.each([
  ['Anna Müller &amp; Co', 'Anna Müller & Co'],
  [' Anna\n  Müller ', 'Anna Müller'],
  ['x'.repeat(300), 'x'.repeat(100)],
  ['a\u202Eb', 'a b'],
  // What is no person's name.
  ...['', ' ', 'root', 'openpyxl', 'Microsoft Office User', 'Windows User', 'Unknown'].map(
    (name): [string, undefined] => [name, undefined],
  ),
])('the last editor of a workbook that says %j is %j', async (name, editor) => {
  expect(await editorOf({ 'docProps/core.xml': core(name) })).toBe(editor);
});

it('the properties are where the workbook says', async () => {
  const files = workbookFiles({ rows });
  const type = 'http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties';
  const relations = files['_rels/.rels']?.replace(
    '</Relationships>',
    `<Relationship Id="p" Type="${type}" Target="/other/core.xml"/></Relationships>`,
  );
  expect(await editorOf({ '_rels/.rels': relations ?? '', 'other/core.xml': core('Ben') })).toBe('Ben');
});

it('an OpenDocument names who saved it last, not who made it', async () => {
  const meta =
    '<office:document-meta><office:meta><meta:initial-creator>Ben</meta:initial-creator><dc:creator>Anna</dc:creator></office:meta></office:document-meta>';
  expect((await readBytes(zipped({ 'content.xml': content, 'meta.xml': meta }))).lastEditor).toBe('Anna');
});

it('properties that are missing or damaged name nobody, and the sheet is read', async () => {
  for (const properties of [{}, { 'docProps/core.xml': '<a' }, { 'docProps/core.xml': '<!DOCTYPE a>' }])
    expect(await editorOf(properties as Record<string, string>)).toBe(undefined);
});
