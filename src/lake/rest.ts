import { firstLine, LakeError, messageOf } from '../base/errors.js';
import { isObject, jsonOf } from '../base/json.js';
import type { LakeSecrets } from '../config/secrets.js';
import type { LakeTable } from './catalog.js';
import { type LakePlace, tokenServer } from './settings.js';

/**
 * What DuckDB does not do with an Iceberg REST catalog: list the tables of one namespace without asking for every other one,
 * and set the comments of columns (`doc`). Both are plain requests of the REST specification.
 */

interface Field {
  readonly id: number;
  readonly name: string;
  readonly doc?: string;
}

interface Schema {
  readonly 'schema-id': number;
  readonly fields: readonly Field[];
}

interface TableMetadata {
  readonly location: string;
  readonly 'table-uuid': string;
  readonly 'current-schema-id': number;
  readonly 'last-column-id': number;
  readonly schemas: readonly Schema[];
  readonly properties?: Readonly<Record<string, string>>;
}

/** Longer than any catalog takes for one table. */
const timeoutMs = 60_000;

/** A client of one Iceberg REST catalog. It logs in when it is first needed. Every call throws LakeError. */
export class RestCatalog {
  #token: string | undefined;
  #root: Promise<string> | undefined;

  constructor(
    private readonly place: LakePlace,
    private readonly secrets: LakeSecrets,
  ) {
    this.#token = secrets.token;
  }

  /** Raises LakeError when the catalog cannot be reached, refuses the credentials, or does not know the warehouse. */
  async check(): Promise<void> {
    await this.#prefix();
  }

  /** The tables of a namespace; null when there is no such namespace. */
  async tables(namespace: string): Promise<string[] | null> {
    const names: string[] = [];
    let next = '';
    do {
      const query = next === '' ? '' : `?pageToken=${encodeURIComponent(next)}`;
      const answer = await this.#request('GET', `namespaces/${encodeURIComponent(namespace)}/tables${query}`);
      if (answer === null) return null;
      const found = Array.isArray(answer.identifiers) ? answer.identifiers : [];
      names.push(...found.flatMap((one) => (isObject(one) ? [String(one.name)] : [])));
      const token = answer['next-page-token'];
      next = typeof token === 'string' ? token : '';
    } while (next !== '');
    return names;
  }

  async has(namespace: string, table: string): Promise<boolean> {
    return (await this.#request('GET', pathOf(namespace, table))) !== null;
  }

  /** Where the files with the rows of a table are; the files of commits are in another folder. */
  async dataFolder(namespace: string, table: string): Promise<string> {
    const metadata = await this.#metadata(namespace, table);
    if (!metadata) throw this.#fault(404);
    const folder =
      metadata.properties?.['write.data.path'] ?? `${metadata.location.replace(/\/+$/, '')}/data`;
    return `${folder.replace(/\/+$/, '')}/`;
  }

  /** Sets the comments of a table and its columns where they differ. */
  async describe(namespace: string, { name: table, comment, columns }: LakeTable): Promise<void> {
    const comments = new Map(columns.map((one) => [one.name, one.comment]));
    const metadata = await this.#metadata(namespace, table);
    const schema = metadata?.schemas.find((one) => one['schema-id'] === metadata['current-schema-id']);
    if (!metadata || !schema) return;
    const fields = schema.fields.map((field) => {
      const doc = comments.get(field.name);
      return doc ? { ...field, doc } : field;
    });
    const isNew = fields.some(({ doc }, index) => doc !== schema.fields[index]?.doc);
    const isOther = comment !== null && metadata.properties?.comment !== comment;
    if (!isNew && !isOther) return;
    const updates: object[] = [];
    if (isNew) {
      const id = Math.max(...metadata.schemas.map((one) => one['schema-id'])) + 1;
      const lastColumn = metadata['last-column-id'];
      const described = { ...schema, 'schema-id': id, fields };
      updates.push({ action: 'add-schema', schema: described, 'last-column-id': lastColumn });
      updates.push({ action: 'set-current-schema', 'schema-id': -1 });
    }
    if (isOther) updates.push({ action: 'set-properties', updates: { comment } });
    const requirements = [
      { type: 'assert-table-uuid', uuid: metadata['table-uuid'] },
      { type: 'assert-current-schema-id', 'current-schema-id': metadata['current-schema-id'] },
    ];
    const identifier = { namespace: [namespace], name: table };
    await this.#request('POST', pathOf(namespace, table), { identifier, requirements, updates });
  }

  async #metadata(namespace: string, table: string): Promise<TableMetadata | undefined> {
    const answer = await this.#request('GET', pathOf(namespace, table));
    return answer?.metadata as TableMetadata | undefined;
  }

  /** Where the warehouse is within the catalog. */
  #prefix(): Promise<string> {
    this.#root ??= this.#configure();
    return this.#root;
  }

  async #configure(): Promise<string> {
    const { warehouse } = this.place;
    const answer = await this.#send('GET', `v1/config?warehouse=${encodeURIComponent(warehouse)}`);
    if (answer === null) throw this.#fault(404);
    const of = (part: unknown) =>
      isObject(part) && typeof part.prefix === 'string' ? part.prefix : undefined;
    const prefix = of(answer.overrides) ?? of(answer.defaults);
    // As it is: Nessie has encoded it already.
    return prefix === undefined ? 'v1/' : `v1/${prefix}/`;
  }

  async #request(method: string, path: string, body?: object): Promise<Record<string, unknown> | null> {
    return this.#send(method, `${await this.#prefix()}${path}`, body);
  }

  /** The answer; null for 404. */
  async #send(method: string, path: string, body?: object): Promise<Record<string, unknown> | null> {
    await this.#authorize();
    const response = await this.#fetch(`${this.place.catalog.replace(/\/+$/, '')}/${path}`, {
      method,
      headers: {
        accept: 'application/json',
        ...(body && { 'content-type': 'application/json' }),
        ...(this.#token !== undefined && { authorization: `Bearer ${this.#token}` }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (response.status === 404) {
      await response.body?.cancel();
      return null;
    }
    const text = await response.text();
    if (!response.ok) throw this.#fault(response.status, text);
    const parsed = jsonOf(text);
    if (isObject(parsed)) return parsed;
    const message = `the catalog at ${this.place.catalog} does not answer as an Iceberg REST catalog`;
    throw new LakeError(message, 'give up', {
      hint: 'Check lake.catalog: the address ends where v1/config begins, often in /iceberg or /catalog.',
    });
  }

  /** Gets a token for the client, once. */
  async #authorize(): Promise<void> {
    const { clientId, clientSecret } = this.secrets;
    if (this.#token !== undefined || clientId === undefined || clientSecret === undefined) return;
    const scope = this.place.oauth2Scope;
    const response = await this.#fetch(tokenServer(this.place), {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
        ...(scope !== undefined && { scope }),
      }),
    });
    const answer = jsonOf(await response.text());
    const token = isObject(answer) ? answer.access_token : undefined;
    if (!response.ok || typeof token !== 'string') throw this.#fault(response.ok ? 401 : response.status);
    this.#token = token;
  }

  async #fetch(url: string, init: RequestInit): Promise<Response> {
    try {
      // A redirect could carry the token to another host.
      return await fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(timeoutMs) });
    } catch (error) {
      const reason =
        error instanceof Error && error.cause !== undefined ? messageOf(error.cause) : messageOf(error);
      throw new LakeError(`the catalog at ${this.place.catalog} cannot be reached: ${reason}`, 'unknown', {
        hint: 'Check lake.catalog and that the catalog is running, then run the command again.',
        cause: error,
      });
    }
  }

  #fault(status: number, body = ''): LakeError {
    const { catalog } = this.place;
    const said = jsonOf(body);
    const detail = isObject(said) && isObject(said.error) ? `: ${firstLine(String(said.error.message))}` : '';
    const at = `the catalog at ${catalog}`;
    if (status === 401 || status === 403) {
      const hint =
        'Check SIGNALHOUSE_LAKE_TOKEN, or SIGNALHOUSE_LAKE_CLIENT_ID and SIGNALHOUSE_LAKE_CLIENT_SECRET (or their files).';
      return new LakeError(`${at} refuses the credentials (${status})`, 'give up', { hint });
    }
    if (status === 409) {
      const message = `another writer changed the lake at ${catalog} at the same time${detail}`;
      return new LakeError(message, 'retry', { hint: 'Run the command again.' });
    }
    const hint =
      'Check lake.warehouse, and that lake.catalog ends where v1/config begins; the log of the catalog may say more.';
    return new LakeError(
      `${at} answers ${status} for the warehouse ${this.place.warehouse}${detail}`,
      status >= 500 ? 'unknown' : 'give up',
      { hint },
    );
  }
}

function pathOf(namespace: string, table: string): string {
  return `namespaces/${encodeURIComponent(namespace)}/tables/${encodeURIComponent(table)}`;
}
