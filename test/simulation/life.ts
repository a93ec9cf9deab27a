import type { FaultRuleInput } from '../../src/sandbox/faults.js';
import { Random } from '../../src/sandbox/world/random.js';

/**
 * What may happen, as data: a plan of nights is made from a seed alone, so that a part of it can be left out and the
 * rest stays as it is. Numbers (`of`, `with`) pick from what is there when the move is made.
 */

/** How often each kind of move comes in the mean of all nights, in relation to the others. */
const meanWeights = {
  /** Members of the organization, by the names of sandbox/world/changes. */
  change: {
    createTopic: 3,
    patchTopic: 8,
    archiveTopic: 2,
    unarchiveTopic: 1,
    supersedeTopic: 1,
    migrateTopic: 1,
    mergeTopics: 3,
    deleteTopic: 3,
    restoreTopic: 2,
    createPerson: 2,
    patchPerson: 4,
    mergePeople: 3,
    deletePerson: 2,
    restorePerson: 2,
    employ: 9,
    linkIdentity: 4,
    createCompany: 1,
    patchCompany: 3,
    mergeCompanies: 1,
    deleteCompany: 1,
    restoreCompany: 1,
    linkCompanyIdentity: 1,
    addGroup: 2,
    assignGroup: 5,
    addMessage: 12,
    editMessage: 3,
    deleteMessage: 5,
    removeMessage: 3,
    react: 2,
  },
  /** What users and operators do in one evening. */
  story: {
    asked: 3,
    pushed: 2,
    against: 6,
    askedTwice: 3,
    askedLater: 3,
    undone: 2,
    undoneAgainst: 5,
    killed: 6,
    inDoubt: 6,
    dropped: 1,
    undoOfEarlier: 2,
    cancelled: 1,
    retried: 2,
    partly: 2,
    lagging: 3,
    late: 3,
    among: 3,
    machineLost: 2,
    machineLostAgainst: 2,
    machineLostInDoubt: 2,
    wentBack: 2,
    rebuilt: 1,
    fileLost: 1,
    clockSet: 1,
    settingsChanged: 1,
  },
  /** What follows a push of which nobody knows what it has sent. */
  afterDoubt: { nothing: 2, cancel: 5, colleague: 3, restored: 2, undo: 1 },
  /** How a run of the program goes. */
  run: {
    whole: 4,
    capped: 2,
    killed: 3,
    killedSending: 3,
    killedPushing: 3,
    stopped: 1,
    served: 1,
    tight: 1,
    full: 1,
  },
  /** What is wrong with the service in a stormy night. */
  storm: {
    status: 2,
    limited: 1,
    html: 1,
    truncate: 1,
    untrue: 4,
    doubt: 4,
    leftOut: 2,
    between: 4,
    paging: 1,
    weather: 3,
    outage: 1,
  },
} as const;

type Weights = {
  readonly [Table in keyof typeof meanWeights]: {
    readonly [Kind in keyof (typeof meanWeights)[Table]]: number;
  };
};

/**
 * What is done in one night: of each table some kinds never, some often. Two rare ones meet in few nights then, but again and
 * again, instead of hardly ever in all of them (swarm testing).
 */
function weightsOf(random: Random): Weights {
  const changed = (table: Readonly<Record<string, number>>) => {
    const all = Object.entries(table).map(([kind, weight]) => [
      kind,
      weight * random.pick([0, 0.5, 1, 1, 4]),
    ]);
    return all.some(([, weight]) => Number(weight) > 0) ? Object.fromEntries(all) : table;
  };
  const tables = Object.entries(meanWeights).map(([name, table]) => [name, changed(table)]);
  return Object.fromEntries(tables) as Weights;
}

type ChangeKind = keyof Weights['change'];
type ActKind =
  | 'importTopics'
  | 'importCompanies'
  /** An earlier sheet once more, under another name. */
  | 'importAgain'
  /** Somebody with a sheet asks for something else in the same fields. */
  | 'importAgainst'
  /** Another sheet asks for the same. */
  | 'importLater'
  | 'dropSheet'
  /** A colleague sets something else in the same fields. */
  | 'colleagueAgainst'
  | 'sync'
  /** Only some of the lists. */
  | 'syncOnly'
  | 'push'
  | 'pushKilled'
  /** Changes are made, and some of their answers are lost. */
  | 'pushInDoubt'
  /** Servers answer that lag behind; writes are accepted and made later; colleagues work between two requests. */
  | 'pushLagging'
  | 'pushLate'
  | 'pushAmong'
  | 'undo'
  | 'cancel'
  | 'retry'
  | 'rebuild'
  | 'loseLiveFile'
  | 'backUp'
  /** What was backed up in the same evening: on another machine, or over what went on since then. */
  | 'restore'
  | 'restoreOver'
  /** A person of whom nothing is kept; the nights after that are not compared with the organization. */
  | 'forget'
  /** Old contents and people are dropped from now on; the same holds for the nights after that. */
  | 'expire'
  | 'clockJump'
  | 'settings';

/** The acts of each story. */
const stories: Readonly<Record<keyof Weights['story'], readonly (ActKind | 'import' | 'afterDoubt')[]>> = {
  asked: ['import'],
  pushed: ['import', 'push'],
  against: ['import', 'colleagueAgainst', 'push'],
  askedTwice: ['import', 'importAgainst'],
  askedLater: ['import', 'push', 'colleagueAgainst', 'sync', 'importLater', 'push'],
  undone: ['import', 'push', 'undo', 'push'],
  undoneAgainst: ['import', 'push', 'colleagueAgainst', 'undo', 'push'],
  killed: ['import', 'pushKilled', 'afterDoubt'],
  inDoubt: ['import', 'pushInDoubt', 'afterDoubt'],
  lagging: ['import', 'colleagueAgainst', 'sync', 'pushLagging'],
  late: ['import', 'pushLate'],
  among: ['import', 'pushAmong'],
  dropped: ['dropSheet'],
  undoOfEarlier: ['undo'],
  cancelled: ['cancel'],
  retried: ['retry', 'push'],
  partly: ['syncOnly'],
  machineLost: ['import', 'backUp', 'push', 'restore', 'push'],
  machineLostAgainst: ['import', 'backUp', 'push', 'colleagueAgainst', 'restore', 'push'],
  machineLostInDoubt: ['import', 'backUp', 'pushInDoubt', 'restore', 'afterDoubt'],
  wentBack: ['import', 'backUp', 'cancel', 'import', 'restoreOver', 'push'],
  rebuilt: ['rebuild'],
  fileLost: ['loseLiveFile'],
  clockSet: ['clockJump'],
  settingsChanged: ['settings'],
};

const afterDoubt: Readonly<Record<keyof Weights['afterDoubt'], readonly ActKind[]>> = {
  nothing: [],
  cancel: ['cancel'],
  colleague: ['colleagueAgainst', 'push'],
  restored: ['loseLiveFile', 'cancel'],
  undo: ['undo', 'push'],
};

/** A change that shows nowhere until the sweep, so that it belongs to no quiet night. */
const silent: readonly ChangeKind[] = [
  'editMessage',
  'react',
  'linkCompanyIdentity',
  'migrateTopic',
  'deleteMessage',
];

export interface ChangeMove {
  readonly change: ChangeKind;
  readonly of: number;
  readonly with: number;
}
export interface ActMove {
  readonly act: ActKind;
  readonly of: number;
  readonly with: number;
}
export type StormMove =
  | { readonly fault: FaultRuleInput }
  | { readonly between: ChangeMove; readonly route: string; readonly after?: number }
  | { readonly weather: number }
  /** Minutes without an answer. */
  | { readonly outage: number };

interface Run {
  readonly run: keyof Weights['run'];
  /** Of requests, or of calls into DuckDB. */
  readonly after: number;
  /** Seconds until the run that follows one which did not come to its end. */
  readonly pause: number;
  /** What a colleague does until then. */
  readonly meanwhile?: ActMove;
}

export interface Night {
  readonly no: number;
  /**
   * quiet: the next whole run has to show all of it; misled: single answers are untrue, and two quiet runs later all of it is
   * shown; calm: everything is compared after it, the old as well.
   */
  readonly kind: 'quiet' | 'misled' | 'stormy' | 'calm';
  readonly moves: readonly (ChangeMove | ActMove)[];
  readonly storm: readonly StormMove[];
  readonly run: Run;
}

/** Nights in the order in which they come: what a storm leaves wrong, the calm makes right. */
const cycle = ['quiet', 'misled', 'quiet', 'stormy', 'stormy', 'calm'] as const;

/** The nights of a seed. */
export function planOf(seed: number, nights: number): Night[] {
  return Array.from({ length: nights }, (_, index) => nightOf(seed, index + 1, nights));
}

/** The same, while people are forgotten and what is old expires. */
export function forgettingPlanOf(seed: number, nights: number): Night[] {
  return planOf(seed, nights).map((night) => {
    const random = new Random(seed, 'forgetting', night.no);
    const moves = [...night.moves];
    if (night.no === 2) moves.push(actMove(random, 'expire'));
    if (night.no > 1 && random.chance(0.3)) moves.push(actMove(random, 'forget'));
    return { ...night, moves };
  });
}

function nightOf(seed: number, no: number, nights: number): Night {
  const random = new Random(seed, 'night', no);
  const weights = weightsOf(random);
  const kind = no === nights ? 'calm' : (cycle[(no - 1) % cycle.length] ?? 'calm');
  const changes = Array.from({ length: random.whole(25, 60) }, () =>
    changeMove(random, changeKind(random, weights, kind)),
  );
  // What the warehouse knew is gone, and what it has seen to be gone is back: seldom in a life, and in most of these nights.
  if (random.chance(0.6)) changes.unshift(changeMove(random, random.pick(goings)));
  if (random.chance(0.8)) changes.unshift(changeMove(random, random.pick(returns)));
  const storm = {
    quiet: () => [],
    calm: () => [],
    misled: () => misled(random),
    stormy: () => Array.from({ length: random.whole(2, 5) }, () => stormMove(random, weights)),
  }[kind]();
  // What is cut short is not published, and shows no untrue answer.
  const run = kind === 'misled' ? 'whole' : random.weighted(weights.run);
  const most = {
    whole: 1,
    stopped: 120,
    capped: 120,
    killed: random.pick([150, 1_500]),
    killedSending: random.pick([50, 400]),
    killedPushing: 4,
    served: 1,
    tight: random.pick([150, 1_500]),
    full: random.pick([150, 1_500]),
  };
  const after = random.whole(1, most[run]);
  const acts = Array.from({ length: random.whole(2, 4) }, () => storyMoves(random, weights)).flat();
  // There has to be something to send.
  if (run === 'killedPushing') acts.push(actMove(random, 'importTopics'));
  const pause = random.pick([1, 1, 20, 70, 3_600]);
  const meanwhile =
    run === 'killedPushing' && random.chance(0.5) ? actMove(random, 'colleagueAgainst') : undefined;
  return {
    no,
    kind,
    moves: [...changes, ...acts],
    storm,
    run: { run, after, pause, ...(meanwhile && { meanwhile }) },
  };
}

const goings: readonly ChangeKind[] = ['deleteTopic', 'deletePerson', 'deletePerson', 'deleteCompany'];
const returns: readonly ChangeKind[] = ['restoreTopic', 'restorePerson', 'restorePerson', 'restoreCompany'];

function changeKind(random: Random, weights: Weights, kind: Night['kind']): ChangeKind {
  const change = random.weighted(weights.change);
  return kind !== 'stormy' && silent.includes(change) ? changeKind(random, weights, kind) : change;
}

function changeMove(random: Random, change: ChangeKind): ChangeMove {
  return { change, of: random.whole(0, 1e6), with: random.whole(0, 1e6) };
}

function actMove(random: Random, act: ActKind): ActMove {
  return { act, of: random.whole(0, 1e6), with: random.whole(0, 1e6) };
}

function storyMoves(random: Random, weights: Weights): ActMove[] {
  return stories[random.weighted(weights.story)].flatMap((act) => {
    if (act === 'afterDoubt')
      return afterDoubt[random.weighted(weights.afterDoubt)].map((one) => actMove(random, one));
    if (act !== 'import') return [actMove(random, act)];
    return [actMove(random, random.weighted({ importTopics: 6, importCompanies: 2, importAgain: 2 }))];
  });
}

/** Joins, moves and messages: what falls between the readings of two lists. */
const moving: readonly ChangeKind[] = [
  ...(['employ', 'linkIdentity', 'mergePeople', 'mergeCompanies', 'mergeTopics'] as const),
  ...(['assignGroup', 'addMessage', 'removeMessage'] as const),
];

/** What leaves open whether a request was executed. */
export const doubts = [{ kind: 'status', status: 502 }, { kind: 'reset' }, { kind: 'hang' }] as const;

function stormMove(random: Random, weights: Weights): StormMove {
  const kind = random.weighted(weights.storm);
  switch (kind) {
    case 'status':
      return {
        fault: { kind, status: random.pick([500, 502, 503]), probability: 0.15, commit: random.chance(0.3) },
      };
    case 'limited':
      return { fault: { kind: 'status', status: 429, probability: 0.05 } };
    // A change is made, and nobody hears so.
    case 'doubt':
      return {
        fault: {
          ...random.pick(doubts),
          commit: random.chance(0.7),
          probability: 0.5,
          match: { method: 'PATCH' },
        },
      };
    case 'html':
      return { fault: { kind, status: random.pick([200, 502]), probability: 0.05 } };
    case 'truncate':
      return { fault: { kind, bytes: random.whole(0, 200), clean: true, probability: 0.05 } };
    case 'paging':
      return {
        fault: {
          kind,
          how: random.pick(['ignore-page', 'repeat-page', 'other-limit', 'refuse-limit']),
          probability: 0.3,
        },
      };
    case 'untrue':
      return { fault: { kind: 'replace', ...random.pick(untrue), probability: 0.25 } };
    case 'leftOut':
      return {
        fault: {
          kind: 'paging',
          how: 'leave-out',
          times: random.whole(1, 6),
          match: { route: random.pick(['topics', 'people', 'companies']) },
        },
      };
    case 'between':
      return between(random);
    case 'outage':
      return { outage: random.pick([1, 10, 45]) };
    case 'weather':
      return { weather: random.pick([0.02, 0.05, 0.15]) };
  }
}

type Lie = Omit<Extract<FaultRuleInput, { kind: 'replace' }>, 'kind' | 'probability'>;
const set = (values: Record<string, unknown>) =>
  Object.entries(values).map(([path, value]) => ({ path, value }));

/** What only answers say that cannot be true. */
export const untrueText = 'this was never so';
const untrueTopic = { title: untrueText, priorityReasoning: untrueText };

/** Answers that contradict what else is known: empty, the first page only, about something else, older, with a wrong total. */
const misleadings: readonly Lie[] = [
  { match: { route: 'topic_groups' }, body: { data: [] } },
  { match: { route: 'topic_people' }, body: { data: [] } },
  { match: { route: 'person_groups' }, body: { data: [], limit: 50, page: 1, totalCount: 0 } },
  {
    match: { route: 'topic_groups' },
    delete: ['data.1'],
    set: set({ limit: 1, page: 1, totalCount: 45 }),
  },
  {
    match: { route: 'topic' },
    set: set({ id: '00000000-0000-4000-8000-000000000000', ...untrueTopic }),
  },
  { match: { route: 'person' }, set: set({ id: '999999', displayName: untrueText }) },
  {
    match: { route: 'topic' },
    set: set({ ...untrueTopic, updatedAt: '2020-01-01T00:00:00.000Z' }),
  },
  {
    match: { route: 'topics' },
    set: set({ 'data.0.title': untrueText, 'data.0.updatedAt': '2020-01-01T00:00:00.000Z' }),
  },
  // Sets that are shown in part: of each conversation, of a list of companies' conversations, of the employees in a person.
  { match: { route: 'topic_groups' }, delete: ['data.*.messages.0'] },
  { match: { route: 'groups' }, delete: ['data.*.messages.0'] },
  { match: { route: 'person' }, delete: ['company.employees.0'] },
  // A time that is later than its answer, and an empty page in the middle.
  { match: { route: 'topic' }, set: set({ updatedAt: '2190-01-01T00:00:00.000Z' }) },
  { match: { route: 'topics', path: 'page=2' }, set: set({ data: [] }) },
  // People go on naming a company that is not listed.
  ...['topics', 'people', 'companies', 'groups'].flatMap((route): Lie[] => [
    { match: { route }, set: set({ totalCount: 3 }) },
    { match: { route }, delete: ['data.0'] },
  ]),
];

const untrue: readonly Lie[] = [
  ...misleadings,
  // Nothing counts them: where none was stored, this is believed until the sweep.
  { match: { route: 'company_identities' }, body: { identities: [] } },
  { match: { route: 'topics' }, set: set({ 'data.0.updatedAt': '2190-01-01T00:00:00.000Z' }) },
  // All of one moment: nothing tells which came first.
  { match: { route: 'topics' }, set: set({ 'data.*.updatedAt': '2026-11-01T00:00:00.000Z' }) },
];

/** Most of them, once each: what a service says twice is taken for the truth. */
function misled(random: Random): StormMove[] {
  const lies = misleadings.filter(() => random.chance(0.6));
  return [
    ...lies.map((lie) => ({ fault: { kind: 'replace', ...lie, probability: 0.5, times: 1 } as const })),
    ...Array.from({ length: random.whole(0, 3) }, () => between(random)),
  ];
}

/** A change that falls between the readings of two lists, or of two answers. */
function between(random: Random): StormMove {
  return {
    between: {
      change: random.pick(moving),
      of: random.whole(0, 1e6),
      with: random.whole(0, 1e6),
    },
    route: random.pick([
      'people',
      'companies',
      'topics',
      'groups',
      'person',
      'topic_groups',
      'person_identities',
    ]),
    after: random.whole(0, 5),
  };
}
