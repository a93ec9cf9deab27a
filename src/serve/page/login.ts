import { html } from '../../base/html.js';
import { documentOf } from './html.js';

interface LoginContent {
  /** Where the person wanted to go. */
  readonly next: string;
  readonly name: string;
  /** Why a login failed; null before the first. */
  readonly problem: string | null;
  readonly token: string;
  /** The header of the proxy, where it is the only way in; otherwise null. */
  readonly header: string | null;
}

/** The page to log in. It says nothing about the organization. */
export function loginPage({ next, name, problem, token, header }: LoginContent): string {
  const focus = (isFirst: boolean) => (isFirst ? html` autofocus` : null);
  const form = html`<form class="fields" method="post" action="/login" enctype="multipart/form-data">
${problem === null ? null : html`<p id="problem" class="problem" role="alert">${problem}</p>`}
<label>Name <input name="name" value="${name}" autocomplete="username" required${focus(name === '')}></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required${focus(name !== '')}></label>
<input type="hidden" name="next" value="${next}"><input type="hidden" name="token" value="${token}">
<button>Log in</button>
</form>`;
  const elsewhere = html`<p>Open this page through the proxy that logs you in. Here, nobody sent the header ${header}.</p>`;
  return documentOf(
    { title: 'Log in', refreshMs: null },
    html`<main id="main" class="narrow"><section><h1>Log in</h1>${header === null ? form : elsewhere}</section></main>`,
  );
}
