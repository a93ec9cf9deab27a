import { randomBytes } from 'node:crypto';
import { BlockList, isIPv6 } from 'node:net';
import type {} from '@fastify/multipart';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../base/clock.js';
import { oneAtATime } from '../../base/one-at-a-time.js';
import { isPassword } from '../../base/password.js';
import type { Settings } from '../../config/schema.js';
import { loginPage } from '../page/document.js';
import type { Person, Visitor } from '../page/page.js';
import { answerTo, HttpError, isPersonName, sendPage } from './guard.js';

/** The users of the pages, and how they log in. */
export type AccessSettings = Pick<Settings['serve'], 'users' | 'proxies' | 'userHeader'>;

declare module 'fastify' {
  interface FastifyRequest {
    /** The requester; null before the login, and where no login is needed. */
    person: Person | null;
    /** The sender of a sheet whose session has ended: the file is kept until that person has logged in again. */
    lateSender: Person | null;
    /** The form that was sent; null until it is read. */
    form: Form | null;
  }
  interface FastifyContextConfig {
    /** Whether a file that is sent here is kept where the session has ended. */
    keepsLateFile?: boolean;
  }
}

/** An attempt to log in. */
export interface LoginAttempt {
  /** As it was entered. */
  readonly name: string;
  readonly address: string;
  readonly outcome: 'done' | 'failed';
}

interface Form {
  readonly fields: ReadonlyMap<string, string>;
  readonly file: { readonly name: string; readonly bytes: Buffer } | null;
}

const sessionCookie = 'signalhouse';
const sessionMs = 12 * 3_600_000;
/** For how long a session that has ended is known as such. */
const endedMs = 12 * 3_600_000;
const loginPath = '/login';
/** Logins a minute with one name, and from one address: neither many names nor many addresses allow more guesses. */
const maxLogins = { name: 5, address: 20 };
/** Larger than any sheet of the program: 20,000 topics take 5 MB. */
const maxUploadBytes = 20_000_000;

export function needsLogin({ users, userHeader }: AccessSettings): boolean {
  return users.length > 0 || userHeader !== null;
}

/** A function that says whether an address is that of a named proxy. */
export function proxyCheck(proxies: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const proxy of proxies) {
    const [address = '', bits] = proxy.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return (address) => list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/**
 * Lets only people who are known to the routes of `app`, by a login of its own or by the header of a proxy. Every form needs
 * the token of its page. Sessions are in memory: they end after 12 hours, at sign-out, and when the process ends. `home` is
 * where a login leads that was not asked for on the way to another page; `tried` is called for each login that was checked.
 */
export async function requireLogin(
  app: FastifyInstance,
  access: AccessSettings,
  clock: Clock,
  home: string,
  tried: (login: LoginAttempt) => void,
): Promise<void> {
  // Loaded only by a server with users.
  const [cookie, csrf, multipart, rateLimit] = await Promise.all([
    import('@fastify/cookie'),
    import('@fastify/csrf-protection'),
    import('@fastify/multipart'),
    import('@fastify/rate-limit'),
  ]);
  const cookieOptions = { path: '/', httpOnly: true, sameSite: 'strict', secure: 'auto' } as const;
  await app.register(cookie.default);
  await app.register(csrf.default, {
    cookieKey: `${sessionCookie}-form`,
    cookieOpts: cookieOptions,
    // A token of one person is of no use in the browser of another.
    csrfOpts: { hmacKey: randomBytes(32).toString('hex') },
    getUserInfo: ({ person, lateSender }) => ownerOf(person ?? lateSender),
    getToken: (request) => field(request, 'token'),
  });
  // A page of topics has four fields a row, and a column that is pasted is one.
  const limits = { files: 1, fields: 1_000, fieldSize: 100_000, fileSize: maxUploadBytes };
  await app.register(multipart.default, { limits });
  await app.register(rateLimit.default, {
    global: false,
    errorResponseBuilder: (_request, { after }) =>
      new HttpError(429, 'too_many', `That was tried too often. Wait ${after}, then try again.`),
  });

  const users = new Map(access.users.map((user) => [keyOf(user.name), user]));
  const sessions = new Map<string, { person: Person; until: number }>();
  const isProxy = proxyCheck(access.proxies);
  const { userHeader } = access;

  /** Whom the proxy names, if the request came from one. */
  function named({ headers, socket }: FastifyRequest): Person | null {
    const header = userHeader !== null && headers[userHeader.toLowerCase()];
    if (typeof header !== 'string' || !isProxy(socket.remoteAddress ?? '')) return null;
    const name = Buffer.from(header, 'latin1').toString().trim();
    if (!isPersonName(name)) return null;
    return { name, role: users.get(keyOf(name))?.role ?? 'read' };
  }

  function sessionOf({ cookies }: FastifyRequest) {
    const session = sessions.get(cookies[sessionCookie] ?? '');
    if (!session) return null;
    return { person: session.person, hasEnded: session.until <= clock.monotonic() };
  }

  app.decorateRequest('person', null);
  app.decorateRequest('lateSender', null);
  app.addHook('onRequest', async (request, reply) => {
    // Its pages have forms.
    const policy = String(reply.getHeader('content-security-policy'));
    reply.header('content-security-policy', policy.replace("form-action 'none'", "form-action 'self'"));
    const session = sessionOf(request);
    request.person = named(request) ?? (session?.hasEnded ? null : (session?.person ?? null));
    if (request.person !== null || request.routeOptions.url === loginPath) return;
    if (request.method === 'POST' && request.routeOptions.config.keepsLateFile) {
      request.lateSender = session?.person ?? null;
      if (request.lateSender !== null) return;
    }
    if (request.routeOptions.url?.endsWith('.json'))
      return reply.code(401).send({ code: 'unauthorized', message: 'Log in first.' });
    return reply.redirect(`${loginPath}?next=${encodeURIComponent(request.url)}`, 303);
  });
  app.decorateRequest('form', null);
  app.addHook('preValidation', async (request) => {
    if (request.method === 'POST') request.form = await readForm(request);
  });
  app.addHook('preHandler', (request, reply, done) => {
    if (request.method === 'POST') app.csrfProtection(request, reply, done);
    else done();
  });

  const showLogin = (reply: FastifyReply, next: string, name = '', problem: string | null = null) =>
    sendPage(
      reply,
      loginPage({
        next,
        name,
        problem,
        token: reply.generateCsrf({ userInfo: ownerOf(null) }),
        header: access.users.some(({ passwordHash }) => passwordHash) ? null : userHeader,
      }),
    );

  app.get<{ Querystring: { next?: unknown } }>(loginPath, async (request, reply) => {
    const next = localPath(request.query.next, home);
    if (request.person) return reply.redirect(next, 303);
    // Signing out takes the cookie away.
    const hadSession = request.cookies[sessionCookie] !== undefined;
    return showLogin(reply, next, '', hadSession ? endedText(next) : null);
  });

  // Each takes 32 MB.
  const inTurn = oneAtATime();
  const limit = (max: number, keyGenerator: (request: FastifyRequest) => string) =>
    app.createRateLimit({ max, timeWindow: 60_000, keyGenerator });
  const limited = [
    limit(maxLogins.address, ({ ip }) => ip),
    limit(maxLogins.name, (request) => keyOf(field(request, 'name'))),
  ];
  function showError(error: unknown, request: FastifyRequest, reply: FastifyReply) {
    const { status, body } = answerTo(error);
    return showLogin(
      reply.code(status),
      localPath(field(request, 'next'), home),
      field(request, 'name'),
      body.message,
    );
  }
  app.post(loginPath, { errorHandler: showError }, async (request, reply) => {
    for (const check of limited) {
      const found = await check(request);
      if (!found.isAllowed && found.isExceeded)
        throw new HttpError(
          429,
          'too_many',
          `That was tried too often. Wait ${found.ttlInSeconds} s, then try again.`,
        );
    }
    const [name, next] = [keyOf(field(request, 'name')), localPath(field(request, 'next'), home)];
    const person = users.get(name);
    const isRight = await inTurn(() => isPassword(field(request, 'password'), person?.passwordHash));
    const entered = field(request, 'name')
      .replaceAll(/[\p{Cc}\p{Cs}]/gu, '')
      .slice(0, 100);
    tried({ name: entered, address: request.ip, outcome: isRight ? 'done' : 'failed' });
    if (!isRight || !person) throw new HttpError(401, 'unauthorized', 'The name or the password is wrong.');
    for (const [id, { until }] of sessions) if (until + endedMs <= clock.monotonic()) sessions.delete(id);
    const id = randomBytes(32).toString('base64url');
    sessions.set(id, { person, until: clock.monotonic() + sessionMs });
    return reply
      .setCookie(sessionCookie, id, { ...cookieOptions, maxAge: (sessionMs + endedMs) / 1000 })
      .redirect(next, 303);
  });

  app.post('/logout', async (request, reply) => {
    sessions.delete(request.cookies[sessionCookie] ?? '');
    return reply.clearCookie(sessionCookie, cookieOptions).redirect(loginPath, 303);
  });
}

/** The visitor of a page, with the token for its forms; null where no login is needed. */
export function visitorOf({ person, cookies }: FastifyRequest, reply: FastifyReply): Visitor | null {
  if (!person) return null;
  const token = reply.generateCsrf({ userInfo: ownerOf(person) });
  return { ...person, token, canSignOut: cookies[sessionCookie] !== undefined };
}

/** For whom the token of a form is made. The plugin refuses an empty text. */
function ownerOf(person: Person | null): string {
  return person === null ? 'nobody' : `person ${person.name}`;
}

/** A field of the form that was sent; empty when it has none of this name. */
export function field({ form }: FastifyRequest, name: string): string {
  return form?.fields.get(name) ?? '';
}

/** The fields of the form that was sent, in their order. */
export function formOf({ form }: FastifyRequest): ReadonlyMap<string, string> {
  return form?.fields ?? new Map();
}

/** The values of a field that may be sent several times. */
export function fields(request: FastifyRequest, name: string): string[] {
  return field(request, name).split('\n').filter(Boolean);
}

/** A stranger sends a login, and no file. */
const forStrangers = { limits: { files: 0, fields: 20, fieldSize: 2_000 } };

/** Reads a form into memory. */
async function readForm(request: FastifyRequest): Promise<Form> {
  const fields = new Map<string, string>();
  let file: Form['file'] = null;
  if (!request.isMultipart()) return { fields, file };
  try {
    const isStranger = request.person === null && request.lateSender === null;
    for await (const part of request.parts(isStranger ? forStrangers : {})) {
      if (part.type === 'field') {
        // A line for each value of a field that is sent several times.
        const before = fields.get(part.fieldname);
        const value = String(part.value);
        fields.set(part.fieldname, before === undefined ? value : `${before}\n${value}`);
      } else {
        const name = part.filename.replaceAll(/[\p{Cc}\p{Cs}/\\]/gu, '').slice(-150);
        file = { name, bytes: await part.toBuffer() };
      }
    }
    return { fields, file };
  } catch (error) {
    // A problem of the bytes has no status.
    if (typeof error === 'object' && error !== null && 'statusCode' in error) throw error;
    throw new HttpError(400, 'bad_request', 'The form did not arrive as a whole. Send it again.');
  }
}

/** Where a person sends a file that was kept, once there is a session again. */
export const lateFilePath = '/sheets/kept';

function endedText(next: string): string {
  if (!next.endsWith(lateFilePath)) return 'Your session ended. Log in again.';
  return 'Your session ended. Log in again within an hour: your file is kept until then.';
}

function keyOf(name: string): string {
  return name.normalize('NFKC').trim().toLowerCase();
}

/** A path of this server; `home` for anything that could lead elsewhere. */
function localPath(next: unknown, home: string): string {
  const base = 'http://localhost';
  const url = typeof next === 'string' && URL.canParse(next, base) ? new URL(next, base) : null;
  const path = url?.origin === base ? url.pathname + url.search : '';
  return path === '' || path.startsWith('//') || path.startsWith(loginPath) ? home : path;
}
