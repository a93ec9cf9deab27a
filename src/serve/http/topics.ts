import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { UsageError } from '../../base/errors.js';
import { nextOf, nextQuery } from '../page/forms.js';
import type { PageContent, Person } from '../page/page.js';
import { problemPage } from '../page/sheets.js';
import {
  type CompanyDetails,
  companyPage,
  type Told,
  type TopicDetails,
  toldPage,
  topicPage,
} from '../page/topic.js';
import {
  type TopicFilter,
  type TopicLine,
  type TopicList,
  topicFilterOf,
  topicsPage,
} from '../page/topics.js';
import { answerTo, HttpError, personOf, sendPage, writerOf } from './guard.js';
import { field, fields, formOf } from './login.js';
import { problemOf, type SheetFile, sendFile } from './sheets.js';

/** A field as a person edited it, in the text of a form. */
export interface PageEdit {
  readonly entityType: 'topic' | 'company';
  readonly entityId: string;
  readonly field: string;
  /** The value on the page; empty for none. */
  readonly seen: string;
  readonly wanted: string;
}

/** The data and the operations of the pages about topics. An edit is on the disk when the call returns. */
export interface Topics {
  /** Whether anything can be edited: not where the published file has other ids. */
  readonly canEdit: boolean;
  /** A page of the list; `isPart` leaves out what was sent. Rejects with StorageError before the first publication. */
  list(filter: TopicFilter, reader: Person | null, isPart?: boolean): Promise<TopicList>;
  /** Every topic that a filter leaves. */
  matching(filter: TopicFilter): Promise<readonly TopicLine[]>;
  /** Puts edits into the draft of a person. Rejects with UsageError where a value is not one, and then edits nothing. */
  edit(edits: readonly PageEdit[], by: Person): Promise<void>;
  /** The edits that a column of a spreadsheet asks for, of the topics that a page shows. Rejects with UsageError. */
  pasted(column: string, text: string, shown: readonly Shown[]): Promise<PageEdit[]>;
  /** Discards edits of a draft, or has them replace what is there now. */
  settle(keys: readonly string[] | 'all', decision: 'overwrite' | 'discard', by: Person): Promise<void>;
  /** Makes the preview of a draft, and returns its id. */
  review(reason: string, by: Person): Promise<string>;
  /** Null when there is no topic with this id, as of the others. */
  topic(id: string, reader: Person | null): Promise<TopicDetails | null>;
  company(id: string, reader: Person | null): Promise<CompanyDetails | null>;
  /** The people who asked for a topic, and whether they were told. */
  told(id: string, reader: Person | null): Promise<Told | null>;
  /** The same as a CSV file. */
  toldFile(id: string, by: Person): Promise<SheetFile | null>;
  /** Stores of people whether they were told. */
  tell(id: string, people: readonly string[], told: readonly string[], by: Person): Promise<void>;
}

/** A topic as a page showed it, in the texts of its form. */
interface Shown {
  readonly id: string;
  readonly values: Readonly<Record<string, string>>;
}

/** The routes of the pages about topics and companies, in a scope of their own: people read their errors. */
export function topicRoutes(
  app: FastifyInstance,
  topics: Topics,
  given: (request: FastifyRequest, reply: FastifyReply) => Promise<PageContent>,
  logFault: (error: unknown, request: FastifyRequest) => void,
): void {
  async function content(request: FastifyRequest, reply: FastifyReply): Promise<PageContent> {
    const known = await given(request, reply);
    const { visitor } = known;
    return topics.canEdit || !visitor ? known : { ...known, visitor: { ...visitor, role: 'read' } };
  }

  function editorOf(request: FastifyRequest): Person {
    const person = writerOf(request);
    if (topics.canEdit) return person;
    throw new UsageError('Nothing can be changed here: the published file has other ids.', [], {
      hint: 'Change it in a sheet, or publish a file without the profile strict.',
    });
  }

  app.get('/topics', async (request, reply) => {
    const filter = topicFilterOf(request.query as Record<string, unknown>);
    const list = await topics.list(filter, request.person ?? null, 'x-part' in request.headers);
    return sendPage(reply, topicsPage(await content(request, reply), list));
  });

  app.get<{ Params: { id: string } }>('/topics/:id', async (request, reply) => {
    const found = await topics.topic(request.params.id, request.person ?? null);
    return sendPage(reply, topicPage(await content(request, reply), there(found)));
  });

  app.get<{ Params: { id: string } }>('/companies/:id', async (request, reply) => {
    const found = await topics.company(request.params.id, request.person ?? null);
    return sendPage(reply, companyPage(await content(request, reply), there(found)));
  });

  app.get<{ Params: { id: string } }>('/topics/:id/told', async (request, reply) => {
    const found = await topics.told(request.params.id, request.person ?? null);
    return sendPage(reply, toldPage(await content(request, reply), there(found)));
  });

  app.get<{ Params: { id: string } }>('/topics/:id/told.csv', async (request, reply) =>
    sendFile(reply, there(await topics.toldFile(request.params.id, personOf(request)))),
  );

  app.post<{ Params: { id: string } }>('/topics/:id/told', async (request, reply) => {
    const by = editorOf(request);
    const { id } = request.params;
    const [told, shown] = [fields(request, 'told'), fields(request, 'shown_told')];
    // What the page did not change may be a colleague's since.
    const changed = fields(request, 'listed').filter((one) => told.includes(one) !== shown.includes(one));
    await topics.tell(id, changed, told, by);
    return reply.redirect(`${app.prefix}/topics/${encodeURIComponent(id)}/told`, 303);
  });

  app.post<{ Querystring: { next?: unknown } }>('/topics/draft', async (request, reply) => {
    const by = editorOf(request);
    const next = nextOf(request.query.next) ?? '/topics';
    const action = field(request, 'action');
    const chosen = fields(request, 'edit');
    if (action === 'overwrite' || action === 'discard') await topics.settle(chosen, action, by);
    else if (action === 'clear') await topics.settle('all', 'discard', by);
    else if (action === 'review') {
      const id = await topics.review(field(request, 'reason'), by);
      return reply.redirect(`${app.prefix}/sheets/${id}${nextQuery(next)}`, 303);
    } else await topics.edit(await editsOf(request, action, topics, next), by);
    return reply.redirect(app.prefix + next, 303);
  });

  app.setErrorHandler(async (error, request, reply) => {
    logFault(error, request);
    const page = problemPage(await content(request, reply), problemOf(error), '/topics');
    return sendPage(reply.code(answerTo(error).status), page);
  });
}

function there<T>(found: T | null): T {
  if (found === null) throw new HttpError(404, 'not_found', 'There is nothing with this address.');
  return found;
}

/** The request of a form of a list, a topic or a company: the changed menus, and the button. */
async function editsOf(
  request: FastifyRequest,
  action: string,
  topics: Topics,
  next: string,
): Promise<PageEdit[]> {
  const shown = shownIn(request);
  const changed = [...shown.flatMap((one) => menusOf(request, one)), ...companyEdits(request)];
  const selectedTopics = async (): Promise<readonly Shown[]> => {
    if (field(request, 'all') === '') {
      const ids = new Set(fields(request, 'topic'));
      const some = shown.filter(({ id }) => ids.has(id));
      if (some.length === 0) throw new UsageError('No topic is selected.');
      return some;
    }
    const filter = topicFilterOf(Object.fromEntries(new URLSearchParams(next.split('?')[1] ?? '')));
    return (await topics.matching(filter)).map(shownOf);
  };
  switch (action) {
    case 'save':
      return changed;
    case 'apply': {
      const wanted = [
        ['priority', field(request, 'bulk_priority')],
        ['lifecycle_state', field(request, 'bulk_state')],
      ] as const;
      const set = wanted.filter(([, value]) => value !== '');
      if (set.length === 0) throw new UsageError('Choose a priority or a lifecycle state.');
      const some = await selectedTopics();
      return [...changed, ...some.flatMap((one) => set.map(([name, to]) => topicEdit(one, name, to)))];
    }
    case 'archive':
    case 'bring_back': {
      const reason = action === 'archive' ? field(request, 'archive_reason').trim() : '';
      if (action === 'archive' && reason === '')
        throw new UsageError('Say why: the reason to archive is empty.');
      const archived = String(action === 'archive');
      const some = await selectedTopics();
      return [
        ...changed,
        ...some.flatMap((one) => [
          topicEdit(one, 'archived', archived),
          ...(reason === '' ? [] : [topicEdit(one, 'archived_reason', reason)]),
        ]),
      ];
    }
    case 'paste': {
      const from = shown.findIndex(({ id }) => id === field(request, 'from'));
      const rows = shown.slice(Math.max(0, from));
      return [...changed, ...(await topics.pasted(field(request, 'column'), field(request, 'values'), rows))];
    }
    default:
      throw new HttpError(400, 'bad_request', 'The page has no such button.');
  }
}

const seenFields = ['priority', 'lifecycle_state', 'archived'] as const;

/** The rows of the form that was sent, in their order, with what the page showed of them. */
function shownIn(request: FastifyRequest): Shown[] {
  return [...formOf(request)].flatMap(([name, text]): Shown[] => {
    if (!name.startsWith('seen/')) return [];
    const parts = text.split('/');
    const values = Object.fromEntries(seenFields.map((one, at) => [one, parts[at] ?? '']));
    return [{ id: name.slice('seen/'.length), values }];
  });
}

/** The values of a topic on the page. */
export function shownOf({ id, priority, lifecycleState, isArchived }: TopicLine): Shown {
  const values = {
    priority: priority ?? '',
    lifecycle_state: lifecycleState ?? '',
    archived: String(isArchived),
  };
  return { id, values };
}

/** The menus of a row. Those that were not changed ask for what was seen, which is no edit. */
function menusOf(request: FastifyRequest, shown: Shown): PageEdit[] {
  return (['priority', 'lifecycle_state'] as const).flatMap((name): PageEdit[] => {
    const wanted = formOf(request).get(`${name}/${shown.id}`);
    return wanted === undefined ? [] : [topicEdit(shown, name, wanted)];
  });
}

/** An edit that rests on what the page showed of a topic. */
function topicEdit({ id, values }: Shown, name: string, wanted: string): PageEdit {
  return { entityType: 'topic', entityId: id, field: name, seen: values[name] ?? '', wanted };
}

/** The form of a company. */
function companyEdits(request: FastifyRequest): PageEdit[] {
  const entityId = field(request, 'company');
  if (entityId === '') return [];
  return ['name', 'is_vip'].map((name) => {
    const [seen, wanted] = [field(request, `seen_${name}`), field(request, name)];
    return { entityType: 'company', entityId, field: name, seen, wanted: wanted.trim() };
  });
}
