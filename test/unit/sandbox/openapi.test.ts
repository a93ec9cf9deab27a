import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Endpoint, endpoints } from '../../../src/contract/endpoints.js';
import { launch, type Sandbox } from '../../../src/sandbox/start.js';
import { smallWorld } from './small-world.js';

interface Operation {
  operationId: string;
  parameters?: { name: string; in: string; required?: boolean; schema: Record<string, unknown> }[];
  requestBody?: { content: Record<string, { schema: Record<string, unknown> }> };
  responses: Record<string, { content: Record<string, { schema: Record<string, unknown> }> }>;
}

let sandbox: Sandbox;
let description: { openapi: string; paths: Record<string, Record<string, Operation>> };

beforeAll(async () => {
  sandbox = await launch({}, smallWorld().world);
  description = (await (await fetch(`${sandbox.origin}/openapi.json`)).json()) as typeof description;
});
afterAll(() => sandbox.stop());

const operationOf = ({ method, path }: Endpoint) => description.paths[`/v1${path}`]?.[method.toLowerCase()];
const all: [string, Endpoint][] = Object.entries(endpoints);

it('names every endpoint of the contract, and nothing else', () => {
  expect(description.openapi).toBe('3.1.0');
  const described = Object.values(description.paths).flatMap((path) =>
    Object.values(path).map((one) => one.operationId),
  );
  expect(described.sort()).toEqual(Object.keys(endpoints).sort());
});

it.each(all)('describes the parameters, body and answers of %s', (name, endpoint) => {
  const operation = operationOf(endpoint);
  expect(operation?.operationId).toBe(name);
  const inPath = (operation?.parameters ?? []).filter((one) => one.in === 'path');
  expect(inPath.map((one) => `{${one.name}}`).sort()).toEqual(
    [...(endpoint.path.match(/\{\w+\}/g) ?? [])].sort(),
  );
  expect(inPath.every((one) => one.required === true)).toBe(true);
  const inQuery = (operation?.parameters ?? []).filter((one) => one.in === 'query').map((one) => one.name);
  expect(inQuery.sort()).toEqual(Object.keys(endpoint.query?.shape ?? {}).sort());
  expect(operation?.requestBody !== undefined).toBe(endpoint.method !== 'GET');
  const statuses = ['200', '400', '401', '403', '404', '429', '500'];
  const expected = endpoint.method === 'GET' ? statuses : [...statuses, '409', '413', '415'];
  expect(Object.keys(operation?.responses ?? {}).sort()).toEqual(expected.sort());
  for (const [status, { content }] of Object.entries(operation?.responses ?? {})) {
    const schema = content['application/json']?.schema;
    expect(schema).toBeDefined();
    if (status !== '200')
      expect(schema).toMatchObject({ required: ['code', 'message', 'status', 'defined'] });
  }
});

it('describes the opt-in header of writes, and only of writes', () => {
  const header = ([, endpoint]: [string, Endpoint]) =>
    (operationOf(endpoint)?.parameters ?? []).find(
      (one) => one.in === 'header' && one.name === 'idempotency-key',
    );
  for (const one of all) expect(header(one) !== undefined).toBe(one[1].method !== 'GET');
  expect(header(all.find(([name]) => name === 'update_topic')!)?.schema).toMatchObject({ maxLength: 255 });
});
