// The budget of the house: how many tokens of code each folder may have (.ci/house.json). It only goes down.
//   npm run house              each folder with its tokens and its budget; fails where a folder is above it
//   npm run house -- --lower   takes what became smaller into the budget
//
// Comments and format do not count, so nothing is gained by dense lines. Text counts by its words, in strings, templates and
// data files alike, so nothing is gained by moving code into them either.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('../', import.meta.url));
const budgetFile = join(root, '.ci/house.json');

/** @param {string} text */
const wordsIn = (text) => text.match(/[\p{L}\p{N}_]+/gu)?.length ?? 0;

const closing = new Set([
  ts.SyntaxKind.CloseBraceToken,
  ts.SyntaxKind.CloseBracketToken,
  ts.SyntaxKind.CloseParenToken,
  ts.SyntaxKind.GreaterThanToken,
]);

/**
 * Tokens of TypeScript or JavaScript. A comma before a closing bracket is the formatter's, and does not count.
 * @param {string} text
 */
function tokensOfScript(text) {
  const file = ts.createSourceFile('file.ts', text, ts.ScriptTarget.Latest, false, ts.ScriptKind.TS);
  let tokens = 0;
  let isAfterComma = false;
  /** @param {ts.Node} node @returns {void} */
  const visit = (node) => {
    if (node.kind === ts.SyntaxKind.EndOfFileToken || ts.isJSDoc(node)) return;
    const children = node.getChildren(file);
    if (children.length > 0) return children.forEach(visit);
    if (node.kind >= ts.SyntaxKind.FirstNode) return;
    if (isAfterComma && closing.has(node.kind)) tokens -= 1;
    isAfterComma = node.kind === ts.SyntaxKind.CommaToken;
    const isText = ts.isStringLiteral(node) || ts.isTemplateLiteralToken(node);
    tokens += isText ? Math.max(1, wordsIn(node.text)) : 1;
  };
  visit(file);
  return tokens;
}

const sqlToken =
  /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|[\p{L}\p{N}_$]+|<=|>=|<>|!=|::|\|\||->>|->|\S/gu;

/**
 * Tokens of SQL; a string counts by its words.
 * @param {string} text
 */
function tokensOfSql(text) {
  const tokens = text.match(sqlToken)?.filter((token) => !/^(--|\/\*)/.test(token)) ?? [];
  return tokens.reduce((sum, token) => sum + (token.startsWith("'") ? Math.max(1, wordsIn(token)) : 1), 0);
}

/** @type {Record<string, (text: string) => number>} */
const counters = {
  '.ts': tokensOfScript,
  '.mjs': tokensOfScript,
  '.js': tokensOfScript,
  '.sql': tokensOfSql,
  '.yaml': (text) => wordsIn(text.replaceAll(/^\s*#.*$/gm, '')),
  '.json': wordsIn,
  '.css': (text) => wordsIn(text.replaceAll(/\/\*[\s\S]*?\*\//g, '')),
  '.svg': wordsIn,
};

/** @param {string} path */
function tokensOf(path) {
  const count = counters[extname(path)];
  if (!count) throw new Error(`${path}: say in scripts/house.mjs how the tokens of such a file are counted`);
  return count(readFileSync(join(root, path), 'utf8'));
}

/** @param {string} folder */
const filesIn = (folder) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length));

/**
 * The tokens of each folder of src, of sql and of test; corpora of tests are other programs' data.
 * @returns {Record<string, number>}
 */
function countHouse() {
  /** @type {Record<string, number>} */
  const house = {};
  for (const path of ['src', 'sql', 'test'].flatMap(filesIn)) {
    const [top = '', folder, ...rest] = path.split('/');
    if (top === 'test' && !/\.(ts|mjs)$/.test(path)) continue;
    const room = top === 'src' && rest.length > 0 ? `src/${folder}` : top;
    house[room] = (house[room] ?? 0) + tokensOf(path);
  }
  return house;
}

function main() {
  const house = countHouse();
  /** @type {Record<string, number>} */
  const budget = JSON.parse(readFileSync(budgetFile, 'utf8'));
  const above = Object.entries(house).filter(([room, tokens]) => tokens > (budget[room] ?? 0));
  const row = (/** @type {unknown[]} */ cells) =>
    cells.map((cell, index) => (index === 0 ? String(cell).padEnd(16) : String(cell).padStart(10))).join('');
  console.log(row(['folder', 'tokens', 'budget']));
  for (const [room, tokens] of Object.entries(house).sort())
    console.log(row([room, tokens, budget[room] ?? 0]));
  const inSrc = Object.entries(house).filter(([room]) => room.startsWith('src'));
  console.log(row(['src in all', inSrc.reduce((sum, [, tokens]) => sum + tokens, 0)]));

  if (process.argv.includes('--lower')) {
    const lowered = Object.entries(budget)
      .map(([room, most]) => /** @type {const} */ ([room, Math.min(house[room] ?? 0, most)]))
      .filter(([, most]) => most > 0);
    writeFileSync(budgetFile, `${JSON.stringify(Object.fromEntries(lowered), null, 2)}\n`);
  }
  if (above.length === 0) return;
  const rooms = above.map(([room, tokens]) => `${room} has ${tokens} tokens of ${budget[room] ?? 0}`);
  console.error(
    `${rooms.join('; ')}. Delete first. A budget in .ci/house.json goes up only in a commit of its own that names the promise that needs it; code that moves takes its budget with it.`,
  );
  process.exitCode = 1;
}

main();
