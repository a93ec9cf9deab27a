import { userInfo } from 'node:os';

/** The user of the operating system, recorded as the author of what a command does. In a container a user may have no name. */
export function osUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'without a name'}`;
  }
}
