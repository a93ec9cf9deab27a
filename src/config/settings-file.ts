import { isAlias, isMap, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import { z } from 'zod';
import { closestMatch } from '../base/closest.js';
import { firstLine, messageOf, type Problem } from '../base/errors.js';
import { isObject } from '../base/json.js';

/** A YAML file as people wrote it: its value, and what is wrong in it, with the line and what was probably meant. */
export interface SettingsFile {
  /** Undefined when the file is not YAML. */
  readonly value: unknown;
  readonly problems: readonly Problem[];
  /** The line of a setting, or of the nearest part of its path that is there. */
  lineOf(setting: string): number | undefined;
}

/** Reads a text. `name` is the name of its file. */
export function parseSettings(source: string, name: string): SettingsFile {
  const lines = new LineCounter();
  const document = parseDocument(source, { prettyErrors: true, lineCounter: lines });
  const faults: unknown[] = [...document.errors];
  let value: unknown;
  try {
    if (faults.length === 0) value = document.toJS();
  } catch (error) {
    // An alias without its anchor, or too many aliases, fails only here.
    faults.push(error);
  }
  const told = (fault: unknown) => firstLine(messageOf(fault)).replace(/:$/, '');
  return {
    value,
    problems: faults.map((fault) => ({ setting: name, problem: told(fault) })),
    lineOf: (setting) => {
      const offset = offsetOf(setting, document.contents, (node) =>
        isAlias(node) ? node.resolve(document) : node,
      );
      return offset === undefined ? undefined : lines.linePos(offset).line;
    },
  };
}

/** Where the dotted path begins in the text. Keys may have dots themselves, as the columns of a mask. */
function offsetOf(
  path: string,
  from: Node | null,
  resolved: (node: Node | null) => Node | null | undefined,
): number | undefined {
  const node = resolved(from);
  if (isSeq(node)) {
    const [step = '', index] = /^\[(\d+)\]\.?/.exec(path) ?? [];
    const item = node.items[Number(index)] as Node | undefined;
    return item && (offsetOf(path.slice(step.length), item, resolved) ?? item.range?.[0]);
  }
  if (!isMap<Node, Node | null>(node)) return undefined;
  const pair = node.items.find(({ key }) => path === String(key) || /^[.[]/.test(restOf(path, key)));
  return (
    pair && (offsetOf(restOf(path, pair.key).replace(/^\./, ''), pair.value, resolved) ?? pair.key.range?.[0])
  );
}

function restOf(path: string, key: Node): string {
  return path.startsWith(String(key)) ? path.slice(String(key).length) : '';
}

/** The problems that a schema finds. `named` tells how the user gave a setting. */
export function schemaProblems(
  schema: z.ZodType,
  issues: readonly z.core.$ZodIssue[],
  named: (path: string) => string,
): Problem[] {
  return issues.flatMap((issue): Problem[] => {
    if (issue.code !== 'unrecognized_keys')
      return [{ setting: named(dotted(issue.path)), problem: problemOf(issue) }];
    return issue.keys.map((key) => ({
      setting: named(dotted([...issue.path, key])),
      problem:
        key === 'apiKey' || key === 'key'
          ? 'the key must not be in a settings file; use SIGNALHOUSE_API_KEY or api.keyFile'
          : `is not a setting${meant(key, namesAt(schema, issue.path))}`,
    }));
  });
}

/**
 * A missing value, a wrong type, a word that is not one of several, or a number out of bounds, in the words of YAML and of the
 * command line, where the issues were made with `reportInput` and the schema has no message of its own.
 */
function problemOf(issue: z.core.$ZodIssue): string {
  const isBound = /^Too (?:big|small): expected (?:number|int)/.test(issue.message);
  if (isBound && issue.code === 'too_big')
    return `must be ${issue.inclusive === false ? 'below' : 'at most'} ${issue.maximum}`;
  if (isBound && issue.code === 'too_small')
    return `must be ${issue.inclusive === false ? 'above' : 'at least'} ${issue.minimum}`;
  if (issue.code === 'too_small' && issue.message.startsWith('Too small')) return 'must not be empty';
  if (issue.code !== 'invalid_type' && issue.code !== 'invalid_value') return issue.message;
  if (issue.input === undefined) return 'is required';
  if (issue.code === 'invalid_value')
    return issue.message.startsWith('Invalid option')
      ? `must be one of ${issue.values.join(', ')}`
      : issue.message;
  const form = forms[issue.expected];
  if (form === undefined) return issue.message;
  const isQuoted = typeof issue.input === 'string' && /^(true|false|[-+.\d]+)$/i.test(issue.input.trim());
  return `must be ${form}${isQuoted ? ', without quotes' : ''}`;
}

const mapping = 'a mapping: lines with `name: value`, or {name: value}';
const forms: Readonly<Record<string, string | undefined>> = {
  array: 'a list: lines that begin with `- `, or [one, other]',
  object: mapping,
  record: mapping,
  string: "text; put it in quotes: '…'",
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
};

function meant(key: string, names: readonly string[]): string {
  const guess = closestMatch(key, names);
  return guess === undefined ? '' : `; did you mean ${guess}?`;
}

/** The settings that the schema has at a path. */
function namesAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  const [step, ...rest] = path;
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodDefault || schema instanceof z.ZodOptional)
    return namesAt(schema.def.innerType, path);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((one) => namesAt(one, path));
  if (schema instanceof z.ZodArray) return namesAt(schema.element, rest);
  if (schema instanceof z.ZodRecord)
    return schema.keyType instanceof z.ZodEnum ? schema.keyType.options.map(String) : [];
  if (!(schema instanceof z.ZodObject)) return [];
  if (step === undefined) return Object.keys(schema.shape);
  const inner = schema.shape[String(step)];
  return inner === undefined ? [] : namesAt(inner, rest);
}

/** `serve.jobs[0].cron`. */
export function dotted(path: readonly PropertyKey[]): string {
  const steps = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`));
  return steps.join('').replace(/^\./, '');
}

/** The value at a path; undefined where there is none. */
export function valueAt(values: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, step) =>
      Array.isArray(inner) ? inner[Number(step)] : isObject(inner) ? inner[String(step)] : undefined,
    values,
  );
}

/** Sets the value at a path. A value where a section belongs stays, and is reported. */
export function assign(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [head = '', ...rest] = path;
  if (rest.length === 0) target[head] = value;
  else {
    target[head] ??= {};
    const inner = target[head];
    if (isObject(inner)) assign(inner, rest, value);
  }
}

/** Drops settings without a value, and sections whose lines are all comments. A mask of null is a value. */
export function withoutEmpty(
  value: Record<string, unknown>,
  path: readonly string[] = [],
): Record<string, unknown> {
  if (path.join('.') === 'publish.mask') return value;
  const filled = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(
    filled.map(([name, inner]) => [name, isObject(inner) ? withoutEmpty(inner, [...path, name]) : inner]),
  );
}
