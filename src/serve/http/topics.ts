import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { PageContent, Person } from '../page/page.js';
import { problemPage } from '../page/sheets.js';
import { type TopicFilter, type TopicList, topicFilterOf, topicsPage } from '../page/topics.js';
import { answerTo, sendPage } from './guard.js';
import { problemOf } from './sheets.js';

/** What the pages about topics show, and what can be done there. */
export interface Topics {
  /** A page of the list. Rejects with StorageError before the first publication. */
  list(filter: TopicFilter, reader: Person | null): Promise<TopicList>;
}

/** The routes of the pages about topics and companies, in a scope of their own: people read their errors. */
export function topicRoutes(
  app: FastifyInstance,
  topics: Topics,
  content: (request: FastifyRequest, reply: FastifyReply) => Promise<PageContent>,
  logFault: (error: unknown, request: FastifyRequest) => void,
): void {
  app.get('/topics', async (request, reply) => {
    const filter = topicFilterOf(request.query as Record<string, unknown>);
    const list = await topics.list(filter, request.person ?? null);
    return sendPage(reply, topicsPage(await content(request, reply), list));
  });

  app.setErrorHandler(async (error, request, reply) => {
    logFault(error, request);
    const page = problemPage(await content(request, reply), problemOf(error), '/topics');
    return sendPage(reply.code(answerTo(error).status), page);
  });
}
