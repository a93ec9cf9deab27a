import type { FastifyInstance, FastifyPluginCallback } from 'fastify';
import { isObject } from '../../base/json.js';
import type { Asked } from '../schedule/scheduler.js';
import { HttpError } from './errors.js';
import { bearer } from './guard.js';

/** What somebody sends to have it queued: a sheet of changes, under the same rules as `changes import`. */
export type Sheet =
  | { readonly kind: 'rows'; readonly rows: readonly Readonly<Record<string, unknown>>[] }
  | { readonly kind: 'csv'; readonly text: string };

/** What became of a sheet; sent back as it is. */
export interface IntakeAnswer {
  /** Changes that are queued now. */
  readonly queued: number;
  /** What was not, and why: one entry a row. */
  readonly problems: readonly unknown[];
}

/** Takes a sheet in. Throws UsageError for one that makes no sense, LockedError while the warehouse is in use. */
export type Intake = (sheet: Sheet, by: string) => Promise<IntakeAnswer>;

export interface WriteOptions {
  readonly token: string;
  readonly ask: (job: string) => Asked;
  /** Without it there is no POST /changes. */
  readonly intake?: Intake | undefined;
  readonly maxSheetBytes: number;
}

/** The routes that change something, all behind the token, which is looked at before a body is read. */
export function writes({ token, ask, intake, maxSheetBytes }: WriteOptions) {
  return async (app: FastifyInstance): Promise<void> => {
    app.addHook('onRequest', bearer(token));
    // Some programs send an empty object with every POST.
    app.addContentTypeParser('*', { parseAs: 'string' }, (_request, _body, done) => done(null, undefined));

    app.post<{ Params: { name: string } }>('/jobs/:name/run', async ({ params: { name } }, reply) => {
      const asked = ask(name);
      if (asked === 'unknown') throw new HttpError(404, 'unknown_job', 'There is no job of that name.');
      if (asked === 'busy') throw new HttpError(409, 'already_running', `${name} runs or waits already.`);
      if (asked === 'stopping') throw new HttpError(503, 'stopping', 'The worker is shutting down.');
      return reply.code(202).send({ job: name, status: 'accepted' });
    });

    if (intake) await app.register(sheets(intake, maxSheetBytes));
  };
}

function sheets(intake: Intake, bodyLimit: number): FastifyPluginCallback {
  return (app, _options, ready) => {
    readSheets(app);
    app.post<{ Body: Sheet | undefined; Querystring: { by?: string | string[] } }>(
      '/changes',
      { bodyLimit },
      async ({ body, query }, reply) => {
        if (!body) throw new HttpError(400, 'bad_request', 'Send a JSON array of rows, or CSV.');
        const answer = await intake(body, author(query.by));
        // Nothing of it went in: a script should not take that for a success.
        const refused = answer.queued === 0 && answer.problems.length > 0;
        return reply.code(refused ? 422 : 200).send(answer);
      },
    );
    ready();
  };
}

/** JSON and CSV, and nothing else. */
function readSheets(app: FastifyInstance): void {
  const json = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('text/csv', { parseAs: 'string' }, async (_: unknown, text: string | Buffer) => ({
    kind: 'csv',
    text: String(text),
  }));
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, text, done) => {
    void json(request, String(text), (error, value) => {
      if (error) return done(error);
      if (Array.isArray(value) && value.every(isObject)) return done(null, { kind: 'rows', rows: value });
      done(new HttpError(400, 'bad_request', 'The body must be an array of objects, one a row.'));
    });
  });
}

/** Who says to have sent it, for the audit; the token does not tell people apart. */
function author(by: string | string[] | undefined): string {
  if (by === undefined || by === '') return 'http';
  if (typeof by === 'string' && by.length <= 100 && !/[\p{Cc}\p{Cs}]/u.test(by)) return by;
  throw new HttpError(400, 'bad_request', 'by must be one name of at most 100 characters.');
}
