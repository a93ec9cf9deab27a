import { readFileSync } from 'node:fs';
import { bareDocument, documentOf, type Html, html, type Piece, styleSheet } from '../../view/html.js';

/** The documents of serve: what all of them load, and the two that say nothing about an organization. */

export interface Person {
  readonly name: string;
  readonly role: 'read' | 'write';
}

export interface Visitor extends Person {
  /** Each form sends it back. */
  readonly token: string;
  /** Whether the login was here, and not at a proxy. */
  readonly canSignOut: boolean;
}

interface ServedParts {
  readonly title: string;
  /** How often it keeps itself up to date; null where it does not. */
  readonly refreshMs: number | null;
  /** A file of assets that makes it easier to use. */
  readonly script?: 'topics.js' | undefined;
  readonly heading: Piece;
  /** Above and below the heading. */
  readonly above?: Piece;
  readonly below?: Piece;
  readonly visitor: Visitor | null;
  /** Below who is here. */
  readonly aside?: Piece;
  readonly main: Piece;
  readonly footer: Piece;
}

export function servedDocument(parts: ServedParts): string {
  const { title, refreshMs, script, heading, above = null, below = null, visitor, aside = null } = parts;
  return documentOf({
    title: titleOf(title),
    head: html`${head}${refreshMs === null ? null : live}${script === undefined ? null : html`<script src="/assets/${script}" defer></script>`}`,
    attributes: html` data-refresh-ms="${refreshMs}"`,
    header: html`<div>${above}<h1 id="heading">${heading}</h1>${below}</div>
<div>${visitor && visitorBox(visitor)}${aside}</div>`,
    notice: html`<p id="connection" role="status" aria-live="polite"></p>\n`,
    main: parts.main,
    footer: parts.footer,
  });
}

const head = html`<link rel="stylesheet" href="/assets/style.css">
<link rel="stylesheet" href="/assets/page.css">
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
`;

const live = html`<noscript><meta http-equiv="refresh" content="15"></noscript>
<script src="/assets/live.js" defer></script>`;

function titleOf(title: string): string {
  return title === 'Signalhouse' ? title : `${title} · Signalhouse`;
}

function visitorBox({ name, token, canSignOut }: Visitor): Html {
  const signOut = html`<form method="post" action="/logout" enctype="multipart/form-data"><input type="hidden" name="token" value="${token}"><button class="link">Sign out</button></form>`;
  return html`<div id="visitor" class="visitor"><span>${name}</span>${canSignOut ? signOut : null}</div>`;
}

function smallDocument(title: string, ...content: readonly Piece[]): string {
  const main = html`<main id="main" class="narrow"><section><h1>${title}</h1>${content}</section></main>`;
  return bareDocument({ title: titleOf(title), head }, main);
}

/** Why there is no page to show, and the way back. */
export function errorPage(message: string): string {
  return smallDocument('No page', html`<p>${message}</p><p><a href="/">To the start</a></p>`);
}

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
  const elsewhere = html`<p>Open this page through the proxy that logs you in. This request has no header ${header}.</p>`;
  return smallDocument('Log in', header === null ? form : elsewhere);
}

const assets = {
  'page.css': 'text/css; charset=utf-8',
  'live.js': 'text/javascript; charset=utf-8',
  'topics.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml',
};

/** The files of /assets, kept in memory: the path of a request is never looked up on the disk. Throws when one is missing. */
export function pageAssets() {
  const own = Object.entries(assets).map(([name, type]) => {
    return { path: `/assets/${name}`, type, body: readFileSync(new URL(`assets/${name}`, import.meta.url)) };
  });
  return [...own, { path: '/assets/style.css', type: assets['page.css'], body: Buffer.from(styleSheet()) }];
}
