import { stringify } from 'yaml';
import { z } from 'zod';

/**
 * What the JSON schema says of a setting, of a section or of a list.
 * @typedef {{ description?: string, example?: unknown, properties?: Record<string, Node>, items?: Node }} Node
 */

const columns = 122;

const header =
  'Every setting of Signalhouse with its default. To change some, copy their lines into a file of your own and name that file with --config or SIGNALHOUSE_CONFIG. `npm run generate` writes this file from src/config/schema.ts.';
const precedence =
  'The environment overrides the file (SIGNALHOUSE_BASE_URL, SIGNALHOUSE_API_KEY_FILE, SIGNALHOUSE_DATA_DIR, SIGNALHOUSE_RATE_LIMIT_REQUESTS, SIGNALHOUSE_RATE_LIMIT_WINDOW_MS, SIGNALHOUSE_LOG_LEVEL), and flags override the environment. The API key itself is never in a settings file. Paths are relative to the current directory.';

const organizations = [
  ...comment(
    'Many organizations in one file: a list, each with its name (lowercase letters, digits and -) and any setting that differs. What an entry leaves out is inherited from the top of the file, except dataDir, which is dataDir/NAME then. What an entry says comes before variables and flags, and api.keyFile before SIGNALHOUSE_API_KEY, which is the key of one. --organization NAME chooses one; status, sync, push and forget take --all; serve takes all.',
    '',
  ),
  "# organizations:\n#   - name: acme\n#     api: {baseUrl: 'https://api.example.com/v1', keyFile: /run/secrets/acme}\n#   - name: globex\n#     dataDir: /srv/globex\n#     rateLimit: {requests: 60}",
].join('\n');

/**
 * config/default.yaml: every setting with its description and default.
 * @param {z.ZodType} schema
 */
export function defaultYaml(schema) {
  const described = /** @type {Node} */ (z.toJSONSchema(schema, { io: 'input' }));
  const sections = Object.entries(described.properties ?? {}).map(([name, node]) =>
    linesOf(name, node, /** @type {any} */ (schema.parse({}))[name], '').join('\n'),
  );
  const top = [...comment(header, ''), '#', ...comment(precedence, '')].join('\n');
  return `${[top, ...sections, organizations].join('\n\n')}\n`;
}

/**
 * @param {string} name
 * @param {Node} node
 * @param {any} value its default; undefined where it has none
 * @param {string} indent
 * @returns {string[]}
 */
function linesOf(name, node, value, indent) {
  const above = comment(node.description ?? '', indent);
  if (node.properties) {
    const inner = Object.entries(node.properties).flatMap(([one, at]) =>
      linesOf(one, at, value[one], `${indent}  `),
    );
    return [...above, `${indent}${name}:`, ...inner];
  }
  if (node.description === undefined) throw new Error(`the setting ${name} has no description`);
  if (node.items?.properties && value.length > 0)
    return [...above, ...listOf(name, node.items.properties, value, indent)];
  const own = value === undefined ? [] : [`${indent}${name}: ${yaml(value)}`];
  const example = node.example === undefined ? [] : [`${indent}# ${name}: ${yaml(node.example)}`];
  return [...above, ...own, ...example];
}

/**
 * A list of mappings: what each field says, and the entries.
 * @param {string} name
 * @param {Record<string, Node>} fields
 * @param {Record<string, unknown>[]} entries
 * @param {string} indent
 */
function listOf(name, fields, entries, indent) {
  const about = Object.entries(fields).flatMap(([field, { description }]) =>
    comment(`${field}: ${description}`, indent, '#   '),
  );
  const lines = entries.flatMap((entry) => {
    const [first, ...more] = Object.entries(fields).map(([field, { example }]) =>
      field in entry ? `${field}: ${yaml(entry[field])}` : `# ${field}: ${yaml(example)}`,
    );
    return [`- ${first}`, ...more.map((line) => `  ${line}`)];
  });
  return [...about, `${indent}${name}:`, ...lines.map((line) => `${indent}  ${line}`)];
}

/**
 * On one line. Whatever other programs may read as something else than a text is quoted, such as 09:00 or 0400.
 * @param {unknown} value
 */
function yaml(value) {
  const isPlain = typeof value !== 'string' || /^[a-z./][\w./:@{}+-]*$/i.test(value);
  return stringify(value, {
    defaultStringType: isPlain ? 'PLAIN' : 'QUOTE_SINGLE',
    singleQuote: true,
    collectionStyle: typeof value === 'string' ? 'any' : 'flow',
    flowCollectionPadding: false,
    lineWidth: 0,
  }).trim();
}

/**
 * Lines of a comment, none for an empty text.
 * @param {string} text
 * @param {string} indent
 */
function comment(text, indent, mark = '# ') {
  const lines = [];
  let line = '';
  for (const word of text.split(' ').filter(Boolean)) {
    if (line !== '' && indent.length + mark.length + line.length + word.length >= columns) {
      lines.push(line);
      line = mark === '# ' ? '' : '  ';
    }
    line += line.trim() === '' ? word : ` ${word}`;
  }
  if (line !== '') lines.push(line);
  return lines.map((one) => `${indent}${mark}${one}`);
}
