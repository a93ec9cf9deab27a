export const password = 'correct horse battery';

/** One that is checked in no time, unlike those that the program makes. */
const passwordHash =
  '$scrypt$ln=4,r=1,p=1$c2l4dGVlbiBieXRlcyBpdA$SZbzfGOxEw4OQprJtlSJKnlDselxx4HRALglP61M6n0';

/** Entries of a person for `serve.users`. */
export const userOf = (name: string, role: 'read' | 'write' = 'write') => ({ name, role, passwordHash });

/** People who log in: anna, ben and cora may write, rita may read. */
export const people = [userOf('anna'), userOf('ben'), userOf('cora'), userOf('rita', 'read')];

/** A browser without a script: it keeps cookies, follows redirects, and sends the forms of the pages. */
export class Visitor {
  readonly #cookies = new Map<string, string>();
  /** The path of the page that was shown last. */
  path = '';
  page = '';
  status = 0;

  constructor(private readonly url: string) {}

  /** A visitor who has logged in. */
  static async of(url: string, name: string): Promise<Visitor> {
    const visitor = new Visitor(url);
    await visitor.logIn(name);
    return visitor;
  }

  async logIn(name: string, given = password, next = '/sheets'): Promise<void> {
    await this.get(`/login?next=${encodeURIComponent(next)}`);
    await this.send('/login', { name, password: given, next });
  }

  /** The same browser at another server, such as one that was started again. */
  at(url: string): Visitor {
    const visitor = new Visitor(url);
    for (const [name, value] of this.#cookies) visitor.#cookies.set(name, value);
    return visitor;
  }

  async get(path: string): Promise<string> {
    return this.#show(path, await this.ask(path));
  }

  /** Sends a form with the token of the page that is shown. */
  async send(path: string, fields: Record<string, string>, file?: { name: string; bytes: Uint8Array }) {
    const form = new FormData();
    const token = /name="token" value="([^"]*)"/.exec(this.page)?.[1] ?? '';
    for (const [name, value] of Object.entries({ token, ...fields })) form.set(name, value);
    if (file) form.set('file', new Blob([Buffer.from(file.bytes)]), file.name);
    return this.#show(path, await this.ask(path, { method: 'POST', body: form }));
  }

  async upload(name: string, bytes: Uint8Array | string): Promise<string> {
    await this.get('/sheets');
    return this.send('/sheets', {}, { name, bytes: Buffer.from(bytes) });
  }

  /** Presses a button of the page of a sheet that is shown. */
  press(action: string): Promise<string> {
    return this.send(this.path, { action });
  }

  async ask(path: string, init: RequestInit = {}): Promise<Response> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(this.url + path, {
      redirect: 'manual',
      ...init,
      headers: { cookie, ...init.headers },
    });
    for (const set of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (value === '') this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    return answer;
  }

  async #show(path: string, answer: Response): Promise<string> {
    const location = answer.headers.get('location');
    if (location !== null) return this.get(location);
    this.path = path;
    this.status = answer.status;
    this.page = await answer.text();
    return this.page;
  }
}

/** The text of a page. */
export const textOf = (page: string) =>
  page
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll('&quot;', '"')
    .replaceAll(/\s+/g, ' ');
