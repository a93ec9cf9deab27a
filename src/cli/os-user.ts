import { userInfo } from 'node:os';

/** The user of the operating system, for the record of who wanted something. In a container a user may have a number and no name. */
export function osUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'without a name'}`;
  }
}
