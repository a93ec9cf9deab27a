import { userInfo } from 'node:os';

/** The user of the operating system, recorded as the author of what a command does. In a container a user may have no name. */
export function osUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'without a name'}`;
  }
}

/**
 * The person at the terminal; null where there is none (a service, a container, a pipe), or only root is known. With sudo it is the
 * person who ran it.
 */
export function osPerson(): string | null {
  const { stdin, stdout, stderr } = process;
  if (![stdin, stdout, stderr].some(({ isTTY }) => isTTY)) return null;
  const isRoot = process.getuid?.() === 0;
  const name = isRoot ? process.env.SUDO_USER : osUser();
  return name === undefined || name === '' || name === 'root' ? null : name;
}

/** The requester of a command line without a name, in a script or as root: one requester, whose later word replaces the earlier. */
export const commandLine = 'command line';
