import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

/** Passwords as the settings file keeps them: hashed with scrypt, in the PHC string format, which holds its parameters. */
export const passwordHash =
  /^\$scrypt\$ln=(\d\d?),r=(\d\d?),p=(\d\d?)\$([A-Za-z0-9+/]{22,})\$([A-Za-z0-9+/]{43})$/;

interface Cost {
  /** The binary logarithm of N. */
  readonly ln: number;
  readonly r: number;
  readonly p: number;
}

/** One of the settings that OWASP recommends. It takes 32 MB and about 0.2 s. */
const cost: Cost = { ln: 15, r: 8, p: 3 };

/** The problem of a new password, or undefined. */
export function passwordProblem(password: string): string | undefined {
  // A password manager prints notes below it, which cannot be typed into the form.
  if (/[\r\n]/.test(password)) return 'must be one line';
  if (password.length < 10) return 'must have at least 10 characters';
  return password.length > 500 ? 'must have at most 500 characters' : undefined;
}

/** Hashes a new password with a salt of its own. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const hash = await derive(password, salt, cost);
  return `$scrypt$ln=${cost.ln},r=${cost.r},p=${cost.p}$${base64(salt)}$${base64(hash)}`;
}

/** Whether a password is that of a hash. Without a hash it is not, after the same time, so that the names of users stay secret. */
export async function isPassword(password: string, hash: string | undefined): Promise<boolean> {
  const [, ln, r, p, salt, expected] = passwordHash.exec(hash ?? '') ?? [];
  const given = { ln: Number(ln), r: Number(r), p: Number(p) };
  const bytes = Buffer.from(expected ?? '', 'base64');
  const found = await derive(
    password,
    Buffer.from(salt ?? '', 'base64'),
    expected === undefined ? cost : given,
  );
  return bytes.length === found.length && timingSafeEqual(bytes, found);
}

function derive(password: string, salt: Buffer, { ln, r, p }: Cost): Promise<Buffer> {
  const options = { N: 2 ** ln, r, p, maxmem: 2 ** ln * r * 256 };
  return new Promise((resolve, reject) => {
    // The same text typed on another system may be other code points.
    scrypt(password.normalize('NFKC'), salt, 32, options, (error, key) =>
      error ? reject(error) : resolve(key),
    );
  });
}

/** Without padding, as the format wants it. */
function base64(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}
