import { asciiOf, bio, companyName, jobTitle, personName } from './names.js';
import { accountId, pickSource } from './organization.js';
import { Random } from './random.js';
import { organizationTexts } from './texts.js';
import { weekMs } from './time.js';
import type { StoredAuthor, StoredCompany, StoredPerson, WorldSizes } from './types.js';

/** The number of people for each account that belongs to no person. */
const peoplePerUnknownAuthor = 9;

/** The companies, the organization's own first. Names may repeat, domains do not. */
export function makeCompanies(sizes: WorldSizes): StoredCompany[] {
  return Array.from({ length: sizes.companies }, (_, i) => {
    const random = new Random(sizes.seed, 'company', i);
    const own = i === 0;
    const name = own ? organizationTexts.name : companyName(random);
    const domain = own
      ? organizationTexts.domain
      : `${asciiOf(name, '-').slice(0, 40) || 'company'}-${i}.example`;
    const hasDomain = own || random.chance(0.92);
    const handle = asciiOf(name, '') || `company${i}`;
    const id = String(4_000 + i * 7 + random.whole(0, 6));
    return {
      id,
      name,
      primaryDomain: hasDomain ? domain : null,
      logoUrl: random.chance(0.75) ? `https://logos.example/${domain}.png` : null,
      isVip: !own && random.chance(0.09),
      isOrgCompany: own,
      createdAt: sizes.now - Math.floor((2 + random.unit()) * sizes.weeks * weekMs),
      connections: {
        ...(random.chance(0.5) ? { linkedin: `https://linkedin.example/company/${handle}` } : {}),
        ...(random.chance(0.3)
          ? { twitter: `@${handle.slice(0, 15)}`, phone: `+1 555 ${random.digits(7)}` }
          : {}),
        ...(random.chance(0.3)
          ? { github: `https://github.example/${handle}`, email: `hello@${domain}` }
          : {}),
      },
      identities: ['salesforce', 'hubspot'].slice(random.whole(0, 2)).map((platform) => ({
        id: random.uuid(),
        platform,
        platformId: random.digits(12),
        platformUsername: platform === 'hubspot' ? handle : null,
      })),
    };
  });
}

/** People with their accounts in the sources, and accounts that belong to no person. */
export function makePeople(sizes: WorldSizes, companies: readonly StoredCompany[]) {
  const people: StoredPerson[] = [];
  const authors: StoredAuthor[] = [];
  const own = companies[0];
  const others = companies.slice(1);
  for (let i = 0; i < sizes.people; i++) {
    const random = new Random(sizes.seed, 'person', i);
    // The first of every sixty is staff, so that any number of people includes staff; bots are rarer.
    const isStaff = own !== undefined && i % 60 === 0;
    const isBot = !isStaff && i % 400 === 3;
    const company = isStaff
      ? own
      : isBot || others.length === 0 || random.chance(0.22)
        ? undefined
        : random.pickFirst(others);
    const person = makePerson(random, sizes, i, company, isStaff, isBot);
    for (const source of chosenSources(random, isStaff, isBot)) {
      const author = makeAuthor(random, source, person);
      person.authorIds.push(author.id);
      authors.push(author);
    }
    people.push(person);
  }
  for (let i = 0; i < Math.ceil(sizes.people / peoplePerUnknownAuthor); i++) {
    const random = new Random(sizes.seed, 'stranger', i);
    authors.push(makeAuthor(random, pickSource(random)));
  }
  return { people, authors };
}

function makePerson(
  random: Random,
  sizes: WorldSizes,
  index: number,
  company: StoredCompany | undefined,
  isStaff: boolean,
  isBot: boolean,
): StoredPerson {
  const { people: texts } = organizationTexts;
  const displayName = isBot ? `${random.pick(texts.bots)} Bot ${index}` : personName(random);
  const handle = asciiOf(displayName, '.') || `person.${index}`;
  const domain = company?.primaryDomain ?? random.pick(texts.mailDomains);
  const id = String(90_000 + index * 11 + random.whole(0, 10));
  return {
    id,
    displayName,
    avatarUrl: random.chance(0.7) ? `https://avatars.example/${id}.png` : null,
    companyId: company?.id ?? null,
    title: !isBot && (isStaff || random.chance(0.6)) ? jobTitle(random) : null,
    connections: {
      ...(random.chance(0.3) ? { linkedin: `https://linkedin.example/in/${handle}`, title: 'Champion' } : {}),
      ...(random.chance(0.2)
        ? { twitter: `@${handle.slice(0, 15)}`, phone: `+44 20 ${random.digits(8)}` }
        : {}),
      ...(random.chance(0.2)
        ? { github: `https://github.example/${handle}`, website: `https://${handle}.example/` }
        : {}),
    },
    description: random.chance(0.25) ? bio(random) : null,
    ecosystemTags: random.sample(texts.ecosystemTags, random.whole(0, 2)),
    expertiseTags: random.sample(texts.expertiseTags, random.whole(0, 2)),
    primaryEmail: !isBot && (isStaff || random.chance(0.8)) ? `${handle}.${index}@${domain}` : null,
    isVip: !isStaff && !isBot && random.chance(company?.isVip === true ? 0.3 : 0.04),
    isBot,
    isStaff,
    createdAt: sizes.now - Math.floor((1 + random.unit()) * sizes.weeks * weekMs),
    authorIds: [],
  };
}

/** Staff has an account in every source; others have one, some two or three. */
function chosenSources(random: Random, isStaff: boolean, isBot: boolean): string[] {
  if (isStaff) return organizationTexts.sources.map((source) => source.name);
  const count = isBot ? 1 : Number(random.weighted({ 1: 70, 2: 22, 3: 8 }));
  const chosen = new Set<string>();
  while (chosen.size < count) chosen.add(pickSource(random));
  return [...chosen];
}

/** An account in a source; without a person, of an integration or of a stranger. */
function makeAuthor(random: Random, source: string, person?: StoredPerson): StoredAuthor {
  const isBot = person?.isBot ?? random.chance(0.04);
  const name = person?.displayName ?? (isBot ? 'Integration Bot' : personName(random));
  const { id = null, primaryEmail = null } = person ?? {};
  return {
    id: random.uuid(),
    personId: id,
    displayName: random.chance(0.05) ? null : name,
    isBot,
    sourceAuthorId: source === 'email' && primaryEmail !== null ? primaryEmail : accountId(random, source),
    sourceAvatarUrl: id !== null && random.chance(0.5) ? `https://avatars.example/${source}/${id}.png` : null,
    sourceName: source,
  };
}
