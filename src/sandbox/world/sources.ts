import type { Random } from './random.js';

/** The properties of a source system. `weight` is its share of channels and of people's accounts. */
export interface Source {
  readonly name: string;
  readonly weight: number;
  readonly messageType: string;
  /** Whether an answer belongs to the thread of the first message of its conversation. */
  readonly threads: boolean;
  /** Whether staff may leave notes that the customer does not see. */
  readonly notes: boolean;
  readonly reactions: boolean;
}

export const sources: readonly Source[] = [
  { name: 'slack', weight: 36, messageType: 'message', threads: true, notes: false, reactions: true },
  { name: 'discord', weight: 22, messageType: 'message', threads: true, notes: false, reactions: true },
  {
    name: 'intercom',
    weight: 22,
    messageType: 'conversation_part',
    threads: false,
    notes: true,
    reactions: false,
  },
  { name: 'email', weight: 12, messageType: 'email', threads: false, notes: true, reactions: false },
  { name: 'github', weight: 8, messageType: 'issue_comment', threads: false, notes: false, reactions: true },
];

/** The source of that name; an unknown name gets the properties of a plain message system. */
export function sourceNamed(name: string): Source {
  return (
    sources.find((source) => source.name === name) ?? {
      name,
      weight: 0,
      messageType: 'message',
      threads: false,
      notes: false,
      reactions: false,
    }
  );
}

/** An account id in the format of its source. */
export function accountId(random: Random, source: string): string {
  switch (source) {
    case 'slack':
      return `U${random.bits().toString(36).toUpperCase().padStart(7, '0')}${random.whole(100, 999)}`;
    case 'discord':
      return random.digits(18);
    case 'github':
      return random.digits(8);
    case 'intercom':
      return random.uuid().replaceAll('-', '').slice(0, 24);
    default:
      return random.digits(10);
  }
}

/** Reactions by their normalized names. Custom ones have no unicode. */
export const reactionKinds: readonly { readonly identifier: string; readonly unicode: string | null }[] = [
  { identifier: 'thumbsup', unicode: '👍' },
  { identifier: 'heart', unicode: '❤️' },
  { identifier: 'eyes', unicode: '👀' },
  { identifier: 'tada', unicode: '🎉' },
  { identifier: 'cry', unicode: '😢' },
  { identifier: 'lumen-party', unicode: null },
];
