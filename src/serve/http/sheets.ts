import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LockedError, problemsOf, SignalhouseError, UsageError } from '../../base/errors.js';
import { nextQuery } from '../page/forms.js';
import type { PageContent, Person } from '../page/page.js';
import {
  type Problem,
  problemPage,
  type SheetDetails,
  type SheetFilter,
  type SheetLine,
  sheetPage,
  sheetsPage,
} from '../page/sheets.js';
import { answerTo, HttpError, personOf, sendPage, writerOf } from './guard.js';
import { field, fields, lateFilePath } from './login.js';

export interface SheetFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** The operations on sheets. A confirmation is on the disk when the call returns, and is carried out after a kill. */
export interface Sheets {
  /** The sheet to edit. Rejects with UsageError when the filter leaves nothing. */
  download(filter: SheetFilter, by: Person): Promise<SheetFile>;
  /** Stores a sheet, and returns its id. Rejects with UsageError for a file that is not one. */
  upload(file: SheetFile, by: Person): Promise<string>;
  /** Keeps a file for an hour, in place of one that was kept before, until the person has logged in again. */
  keep(file: SheetFile, by: Person): void;
  /** Takes the file that was kept; null when there is none. */
  takeKept(by: Person): SheetFile | null;
  /** Prepares the undo of what was applied of a sheet, and returns the id of the undo. */
  undo(id: string, by: Person): Promise<string>;
  decide(id: string, decision: 'confirm' | 'cancel', by: Person): Promise<void>;
  /**
   * Sends changes that failed or met a conflict again, over the values that were found, or gives them up. Each is `id@revision`: one
   * that has changed since it was shown stays as it is.
   */
  settle(changeIds: readonly string[], decision: 'retry' | 'drop', by: Person): Promise<void>;
  /** The changes that a sheet would make, or the results; null when there is none with this id. */
  look(id: string): Promise<SheetDetails | null>;
  /** The sheet with the result of each row; null when its file is not kept. */
  result(id: string): Promise<SheetFile | null>;
  /** The last sheets, newest first. */
  history(): Promise<readonly SheetLine[]>;
}

/** The routes of the page for sheets. Everybody who comes here is logged in. */
export function sheetRoutes(
  app: FastifyInstance,
  sheets: Sheets,
  content: (request: FastifyRequest, reply: FastifyReply) => Promise<PageContent>,
  logFault: (error: unknown, request: FastifyRequest) => void,
): void {
  async function overview(request: FastifyRequest, reply: FastifyReply, problem: Problem | null = null) {
    return sheetsPage(await content(request, reply), filterOf(request), await sheets.history(), problem);
  }

  /** Carries out a request; a problem is shown on the page that sent it. */
  async function orSay(request: FastifyRequest, reply: FastifyReply, work: () => Promise<FastifyReply>) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof SignalhouseError)) throw error;
      return sendPage(reply.code(answerTo(error).status), await overview(request, reply, problemOf(error)));
    }
  }

  app.get('/sheets', async (request, reply) => sendPage(reply, await overview(request, reply)));

  app.get('/sheets/download', (request, reply) =>
    orSay(request, reply, async () =>
      sendFile(reply, await sheets.download(filterOf(request), personOf(request))),
    ),
  );

  const uploads = { config: { rateLimit: { max: 30, timeWindow: 60_000 }, keepsLateFile: true } };
  app.post('/sheets', uploads, async (request, reply) => {
    const { lateSender, form } = request;
    if (lateSender !== null) {
      const isKept = lateSender.role === 'write' && form?.file != null;
      if (isKept) sheets.keep(form.file, lateSender);
      const next = `${app.prefix}${isKept ? lateFilePath : '/sheets'}`;
      return reply.redirect(`/login?next=${encodeURIComponent(next)}`, 303);
    }
    const by = writerOf(request);
    return orSay(request, reply, async () => {
      const file = request.form?.file;
      if (!file || file.name === '')
        throw new UsageError('No file was chosen.', [], { hint: 'Choose the sheet that you edited.' });
      return reply.redirect(`${app.prefix}/sheets/${await sheets.upload(file, by)}`, 303);
    });
  });

  app.get(lateFilePath, (request, reply) =>
    orSay(request, reply, async () => {
      const by = writerOf(request);
      const file = sheets.takeKept(by);
      if (file === null)
        throw new UsageError('Your file is not kept any more.', [], { hint: 'Choose it again.' });
      return reply.redirect(`${app.prefix}/sheets/${await sheets.upload(file, by)}`, 303);
    }),
  );

  app.get<{ Params: { id: string } }>('/sheets/:id', async (request, reply) => {
    const sheet = await sheets.look(request.params.id);
    if (sheet === null) throw new HttpError(404, 'not_found', 'There is no sheet with this address.');
    return sendPage(reply, sheetPage(await content(request, reply), sheet));
  });

  app.post<{ Params: { id: string }; Querystring: { next?: unknown } }>(
    '/sheets/:id',
    async (request, reply) => {
      const by = writerOf(request);
      const { id } = request.params;
      const pageOf = (sheet: string) => `${app.prefix}/sheets/${sheet}${nextQuery(request.query.next)}`;
      const action = field(request, 'action');
      if (action === 'undo') return reply.redirect(pageOf(await sheets.undo(id, by)), 303);
      if (action === 'retry' || action === 'drop') await sheets.settle(fields(request, 'change'), action, by);
      else if (action !== 'confirm' && action !== 'cancel')
        throw new HttpError(400, 'bad_request', 'The page has no such button.');
      else await sheets.decide(id, action, by);
      return reply.redirect(pageOf(id), 303);
    },
  );

  app.get<{ Params: { id: string } }>('/sheets/:id/result', async (request, reply) => {
    const file = await sheets.result(request.params.id);
    if (file === null) throw new HttpError(404, 'not_found', 'The file of this sheet is not kept any more.');
    return sendFile(reply, file);
  });

  // People read the answers.
  app.setErrorHandler(async (error, request, reply) => {
    logFault(error, request);
    return sendPage(
      reply.code(answerTo(error).status),
      problemPage(await content(request, reply), problemOf(error), '/sheets'),
    );
  });
}

/** Sends a file for the disk of the reader. */
export function sendFile(reply: FastifyReply, { name, bytes }: SheetFile): FastifyReply {
  const plain = name.replaceAll(/[^\w. -]/g, '_');
  return reply
    .header(
      'content-disposition',
      `attachment; filename="${plain}"; filename*=UTF-8''${encodeURIComponent(name)}`,
    )
    .type('application/octet-stream')
    .send(bytes);
}

/** The problem, for the person who made the request. */
export function problemOf(error: unknown): Problem {
  const { body } = answerTo(error);
  if (!(error instanceof SignalhouseError) || error instanceof LockedError)
    return { message: body.message, details: [] };
  return { message: error.message, details: [...problemsOf(error), ...(error.hint ? [error.hint] : [])] };
}

function filterOf({ query }: FastifyRequest): SheetFilter {
  const given = query as Readonly<Record<string, unknown>>;
  const text = (name: string) => (typeof given[name] === 'string' ? given[name].trim().slice(0, 200) : '');
  return {
    about: text('about') === 'companies' ? 'companies' : 'topics',
    priority: text('priority'),
    state: text('state'),
    company: text('company'),
    text: text('text'),
  };
}
