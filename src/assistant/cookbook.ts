/** A question of the cookbook that an assistant can be asked. */
export interface Recipe {
  /** Made of the question's words: `who-is-still-waiting-for-an-answer`. */
  readonly name: string;
  readonly question: string;
  /** What the cookbook says about it, without the example of an answer. */
  readonly text: string;
}

/** The questions of the cookbook that have a query: the sections of its Markdown, without their answers. */
export function recipesIn(markdown: string): Recipe[] {
  return markdown
    .split(/^## /m)
    .slice(1)
    .flatMap((section) => {
      const [question = '', ...lines] = section.split('\n');
      const text = lines.filter((line) => !line.startsWith('|') && line !== '*No rows.*').join('\n');
      if (!question.endsWith('?') || !text.includes('```sql')) return [];
      return [{ name: nameOf(question), question, text: text.replace(/\n{3,}/g, '\n\n').trim() }];
    });
}

function nameOf(question: string): string {
  return question
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
}

/** What the assistant is asked to do with a recipe. */
export function promptOf({ question, text }: Recipe): string {
  return `${question}

Answer this from the Signalhouse warehouse: run the query below with the tool "query", adapted where my situation differs,
and tell me in a few sentences what its answer means.

${text}`;
}
