/** Parts of `--help` that we lay out ourselves: yargs wraps them in narrow columns, and knows no groups of commands. */

/** The width of a terminal for which everything here is written: each entry has one line. */
export const helpColumns = 80;

/** A longer command line of an example does not move the texts of the others to the right. */
const maxAligned = 44;

interface Named {
  readonly name: string;
  readonly summary: string;
}

/** Begins a line of a usage text, of which yargs removes the blanks that it begins with; `withIndents` takes it away. */
const margin = '\u2502';

export function withIndents(help: string): string {
  return help.replaceAll(margin, '');
}

/** Commands under the headings of their groups, one to a line, for a usage text. */
export function commandList(
  groups: readonly { readonly heading: string; readonly commands: readonly Named[] }[],
): string {
  const width = Math.max(...groups.flatMap(({ commands }) => commands.map(({ name }) => name.length)));
  return groups
    .map(({ heading, commands }) =>
      [
        `${heading}:`,
        ...commands.map(({ name, summary }) => `${margin}  ${name.padEnd(width)}  ${summary}`),
      ].join('\n'),
    )
    .join('\n\n');
}

/** Examples, one to a line. */
export function exampleList(examples: readonly (readonly [line: string, what: string])[]): string {
  const lengths = examples.map(([line]) => line.length).filter((length) => length <= maxAligned);
  const width = Math.max(0, ...lengths);
  return ['Examples:', ...examples.map(([line, what]) => `  ${line.padEnd(width)}  ${what}`)].join('\n');
}
