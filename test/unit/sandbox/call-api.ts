import type { Sandbox } from '../../../src/sandbox/start.js';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any form
  readonly body: any;
}

export interface Asked {
  readonly method?: string;
  readonly key?: string | null;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

/** One request below `/v1`, by plain fetch: the sandbox is tested without any of our client's code. */
export async function call(sandbox: Sandbox, path: string, asked: Asked = {}): Promise<Reply> {
  return request(`${sandbox.baseUrl}${path}`, {
    ...asked,
    headers: {
      ...(asked.key === null ? {} : { authorization: `Bearer ${asked.key ?? sandbox.apiKey}` }),
      ...asked.headers,
    },
  });
}

/** One request to the controls below `/__sandbox`. */
export async function control(sandbox: Sandbox, path: string, asked: Asked = {}): Promise<Reply> {
  return request(`${sandbox.origin}/__sandbox${path}`, asked);
}

async function request(url: string, { method, body, headers, signal }: Asked): Promise<Reply> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const answer = await fetch(url, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: text }),
    ...(signal ? { signal } : {}),
  });
  const answered = await answer.text();
  return { status: answer.status, headers: answer.headers, text: answered, body: parsed(answered) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
