import { faker as ar } from '@faker-js/faker/locale/ar';
import { faker as de } from '@faker-js/faker/locale/de';
import { faker as en } from '@faker-js/faker/locale/en';
import { faker as ja } from '@faker-js/faker/locale/ja';
import { faker as pl } from '@faker-js/faker/locale/pl';
import type { Random } from './random.js';

const elsewhere = [de, pl, ja, ar];

/** A person's name; about one in four is not English, some with accents or in other scripts. */
export function personName(random: Random): string {
  const names = random.chance(0.74) ? en : random.pick(elsewhere);
  names.seed(random.bits());
  const given = names.person.firstName();
  const family = names.person.lastName();
  // Japanese names begin with the family, without a space.
  return names === ja ? `${family}${given}` : `${given} ${family}`;
}

/** A name of a company, in four of five cases an English one. */
export function companyName(random: Random): string {
  const names = random.chance(0.8) ? en : random.pick([de, pl]);
  names.seed(random.bits());
  return names.company.name();
}

/** A job title, always English. */
export function jobTitle(random: Random): string {
  en.seed(random.bits());
  return en.person.jobTitle();
}

/** A short line that people write about themselves. */
export function bio(random: Random): string {
  en.seed(random.bits());
  return en.person.bio();
}

/** `text` as part of an address: ASCII letters and digits in lower case, joined by `joint`; may be empty. */
export function asciiOf(text: string, joint: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replaceAll('ł', 'l')
    .replaceAll('Ł', 'L')
    .replaceAll('ß', 'ss')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((part) => part !== '')
    .join(joint);
}
