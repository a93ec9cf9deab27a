/**
 * Changes JSON text without writing the rest of it again: a document stays what the API sent (numbers beyond 2^53, the
 * order of keys, white space), except for what is taken out.
 */

interface Place {
  readonly from: number;
  readonly to: number;
}

export interface JsonObject extends Place {
  readonly kind: 'object';
  readonly members: readonly JsonMember[];
}

interface JsonMember {
  readonly name: string;
  /** The text of the name, with its quotation marks. */
  readonly key: Place;
  readonly value: JsonNode;
}

interface JsonArray extends Place {
  readonly kind: 'array';
  readonly items: readonly JsonNode[];
}

interface JsonString extends Place {
  readonly kind: 'string';
  readonly value: string;
}

export type JsonNode = JsonObject | JsonArray | JsonString | (Place & { readonly kind: 'other' });

/** Parses JSON text into nodes that know their places. @throws SyntaxError */
export function parseJson(text: string): JsonNode {
  // Everything below may then rely on it that the text is JSON.
  JSON.parse(text);
  const state = { text, at: 0 };
  return node(state);
}

/** The value of a member that is text; undefined for anything else. */
export function textOf(object: JsonObject, name: string): string | undefined {
  const value = object.members.find((member) => member.name === name)?.value;
  return value?.kind === 'string' ? value.value : undefined;
}

/** The member of that name when it is an object. */
export function objectOf(object: JsonObject, name: string): JsonObject | undefined {
  const value = object.members.find((member) => member.name === name)?.value;
  return value?.kind === 'object' ? value : undefined;
}

interface State {
  readonly text: string;
  at: number;
}

function node(state: State): JsonNode {
  skipSpace(state);
  const from = state.at;
  switch (state.text[from]) {
    case '{': {
      const members: JsonMember[] = [];
      each(state, '}', () => {
        const keyFrom = state.at;
        const name = string(state);
        const key = { from: keyFrom, to: state.at };
        skipSpace(state);
        state.at += 1;
        members.push({ name, key, value: node(state) });
      });
      return { kind: 'object', members, from, to: state.at };
    }
    case '[': {
      const items: JsonNode[] = [];
      each(state, ']', () => void items.push(node(state)));
      return { kind: 'array', items, from, to: state.at };
    }
    case '"':
      return { kind: 'string', value: string(state), from, to: state.at };
    default:
      while (state.at < state.text.length && !/[\s,\]}]/.test(state.text[state.at] ?? '')) state.at += 1;
      return { kind: 'other', from, to: state.at };
  }
}

function each(state: State, end: string, one: () => void): void {
  state.at += 1;
  for (;;) {
    skipSpace(state);
    const next = state.text[state.at];
    if (next === end) {
      state.at += 1;
      return;
    }
    if (next === ',') state.at += 1;
    skipSpace(state);
    one();
  }
}

function string(state: State): string {
  const from = state.at;
  state.at += 1;
  while (state.text[state.at] !== '"') state.at += state.text[state.at] === '\\' ? 2 : 1;
  state.at += 1;
  return JSON.parse(state.text.slice(from, state.at)) as string;
}

function skipSpace(state: State): void {
  while (/\s/.test(state.text[state.at] ?? '')) state.at += 1;
}
