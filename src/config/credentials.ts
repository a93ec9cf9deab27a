import { isLoopback } from '../base/loopback.js';

/** What is wrong with the address of the API, or undefined. Plain http is for loopback alone: the key travels in it. */
export function baseUrlProblem(value: string | undefined): string | undefined {
  if (value === undefined || value.trim() === '') return 'is required: the address of the API, ending in /v1';
  if (!URL.canParse(value.trim())) return 'must be an absolute URL such as https://api.example.com/v1';
  const url = new URL(value.trim());
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password';
  if (url.search !== '' || url.hash !== '') return 'must not have a query or a fragment';
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return `must be https, not ${url.protocol.slice(0, -1)}`;
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    return 'must be https: plain http would send the key in the clear, and is taken for loopback only';
  }
  return /\/v1\/?$/.test(url.pathname) ? undefined : 'must end in /v1';
}

/** What is wrong with a key, or undefined; never quotes it. */
export function apiKeyProblem(key: string): string | undefined {
  if (key === '') return 'the key is empty';
  // Anything else could not travel in a header, and usually is a pasted line break or a file of another kind.
  return /^[\x21-\x7e]{1,4096}$/.test(key)
    ? undefined
    : 'the key holds characters that no key has (white space or non-ASCII)';
}
