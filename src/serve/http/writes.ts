import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import { isObject } from '../../base/json.js';
import type { RequestedRun } from '../schedule/scheduler.js';
import { bearer, HttpError, isPersonName } from './guard.js';

/** A sheet of changes to queue, under the same rules as `changes import`. */
type Sheet =
  | { readonly kind: 'rows'; readonly rows: readonly Readonly<Record<string, unknown>>[] }
  | { readonly kind: 'csv'; readonly bytes: Uint8Array };

/**
 * Imports a sheet. Returns the body of the answer: how many changes were queued, and why rows were not, one entry per row.
 * Throws UsageError for a sheet that cannot be read, LockedError while the warehouse is in use.
 */
export type Intake = (
  sheet: Sheet,
  by: string | null,
) => Promise<{ readonly queued: number; readonly problems: readonly unknown[] }>;

export interface WriteOptions {
  readonly token: string;
  readonly ask: (job: string) => Promise<RequestedRun>;
  /** Without it, POST /changes does not exist. */
  readonly intake?: Intake | undefined;
  readonly maxSheetBytes: number;
}

/** The routes that change something. All require the token, which is checked before a body is read. */
export function writes({ token, ask, intake, maxSheetBytes }: WriteOptions) {
  return async (app: FastifyInstance): Promise<void> => {
    app.addHook('onRequest', bearer(token));
    // Some clients send an empty object with every POST.
    app.addContentTypeParser('*', { parseAs: 'string' }, (_request, _body, done) => done(null, undefined));

    app.post<{ Params: { name: string } }>('/jobs/:name/run', async ({ params: { name } }, reply) => {
      const asked = await ask(name);
      if (asked === 'unknown') throw new HttpError(404, 'unknown_job', 'There is no job with that name.');
      if (asked === 'busy')
        throw new HttpError(409, 'already_running', `${name} is already running or waiting.`);
      if (asked === 'stopping') throw new HttpError(503, 'stopping', 'The worker is shutting down.');
      return reply.code(202).send({ job: name, status: 'accepted' });
    });

    if (intake) await app.register(sheets(intake, maxSheetBytes));
  };
}

function sheets(intake: Intake, bodyLimit: number) {
  return async (app: FastifyInstance): Promise<void> => {
    readSheets(app);
    app.addHook('onRequest', async ({ headers: { 'content-encoding': encoding = 'identity' } }) => {
      if (encoding !== 'identity') throw new HttpError(415, 'unsupported_media_type', howToSend);
    });
    app.post<{ Body: Sheet | undefined; Querystring: Record<string, string | string[]> }>(
      '/changes',
      { bodyLimit },
      async ({ body, query }, reply) => {
        if (!body || (body.kind === 'rows' ? body.rows : body.bytes).length === 0)
          throw new HttpError(400, 'bad_request', howToSend);
        const answer = await intake(body, author(query.by));
        // Nothing was queued: a script must not take that for a success.
        const refused = answer.queued === 0 && answer.problems.length > 0;
        return reply.code(refused ? 422 : 200).send(answer);
      },
    );
  };
}

const howToSend =
  'Send at least one row: a JSON array of objects as application/json, or CSV as text/csv, not compressed.';

/** JSON and CSV, and nothing else. CSV is kept as bytes, because the import detects its encoding. */
function readSheets(app: FastifyInstance): void {
  const json = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _body, done) => {
    done(new HttpError(415, 'unsupported_media_type', howToSend));
  });
  app.addContentTypeParser('text/csv', { parseAs: 'buffer' }, async (_: unknown, bytes: string | Buffer) => ({
    kind: 'csv',
    bytes,
  }));
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    if (!isUtf8(Buffer.from(bytes)))
      return done(new HttpError(400, 'bad_request', 'The JSON is not encoded as UTF-8.'));
    void json(request, String(bytes), (error, value) => {
      if (error) return done(error);
      if (Array.isArray(value) && value.every(isObject)) return done(null, { kind: 'rows', rows: value });
      done(new HttpError(400, 'bad_request', 'The body must be an array of objects, one per row.'));
    });
  });
}

/** The person who asks; null when no person is named, because the token does not identify a person. */
function author(by: string | string[] | undefined): string | null {
  const name = typeof by === 'string' ? by.trim() : by;
  if (name === undefined || name === '') return null;
  if (typeof name === 'string' && isPersonName(name)) return name;
  throw new HttpError(400, 'bad_request', 'by must be a single name of at most 100 characters.');
}
