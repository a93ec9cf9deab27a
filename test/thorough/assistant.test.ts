import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { expect, test } from 'vitest';
import { withSandboxData } from '../../scripts/docs-cookbook.mjs';
import { program } from '../support/signalhouse.js';

const cookbook = readFileSync(new URL('../../docs/cookbook.md', import.meta.url), 'utf8');

/** The rows of the first Markdown table in a text. */
const tableIn = (text: string) =>
  (/(?:^\|.*\n?)+/m.exec(text)?.[0] ?? '')
    .trim()
    .replaceAll(' ⏎ ', ' ')
    .replace(/^\| (.*) \|$/gm, '$1')
    .split('\n');

test('an MCP client gets the answers of the cookbook, and a query that takes too long is stopped', async () => {
  await withSandboxData(async (file) => {
    const config = join(dirname(file), 'settings.yaml');
    writeFileSync(config, 'mcp: { querySeconds: 8 }');
    const client = new Client({ name: 'test', version: '1' });
    const complaints: string[] = [];
    client.onerror = (error) => complaints.push(String(error));
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [program, 'mcp', '--data-dir', dirname(file)],
        env: { SIGNALHOUSE_CONFIG: config },
      }),
    );
    const query = async (sql: string): Promise<string> => {
      const { content } = await client.callTool({ name: 'query', arguments: { sql, max_cell: 1_000 } });
      const [first] = content as { text: string }[];
      return first?.text ?? '';
    };
    const { prompts } = await client.listPrompts();
    for (const { name, title = '' } of prompts) {
      const { messages } = await client.getPrompt({ name });
      const prompt = messages[0]?.content as { text: string };
      const sql = /```sql\n(.*?)```/s.exec(prompt.text)?.[1] ?? '';
      const section = cookbook.slice(cookbook.indexOf(`## ${title}`));
      expect([title, tableIn(await query(sql))]).toEqual([
        title,
        tableIn(section.slice(section.indexOf('\n|'))),
      ]);
    }
    const endless = 'SELECT count(*) FROM range(100000000) a, range(100000) b WHERE a.range + b.range = 7';
    const late = query(endless);
    const next = query('SELECT 42 AS answer');
    expect(await late).toContain('longer than 8 seconds');
    expect(await next).toContain('| 42 |');
    await client.close();
    expect(complaints).toEqual([]);
  });
}, 300_000);
