import { isIP } from 'node:net';

/**
 * Whether a host name or address (IPv6 with or without brackets) is surely this machine. Names under `.localhost` are
 * not: only browsers promise that, and DNS may resolve them to another machine.
 */
export function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  if (isIP(host) === 4) return host.startsWith('127.');
  return host === 'localhost' || host === '::1';
}

/** The problem of an address that a key is sent to, or undefined. Plain http is for loopback only. */
export function keyAddressProblem(url: URL): string | undefined {
  const { protocol, hostname, username, password, search, hash } = url;
  if (username !== '' || password !== '') return 'must not contain a user name or password';
  if (search !== '' || hash !== '') return 'must not have a query or a fragment';
  if (protocol === 'https:') return undefined;
  if (protocol !== 'http:') return `must be https, not ${protocol.slice(0, -1)}`;
  if (isLoopback(hostname)) return undefined;
  return 'must be https: plain http would send the key unencrypted, and is accepted for loopback only (127.0.0.1, localhost, [::1])';
}
