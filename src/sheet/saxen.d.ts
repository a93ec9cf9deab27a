/** saxen has no types of its own; these are the parts that we use. */
declare module 'saxen' {
  export class Parser {
    on(
      event: 'openTag',
      take: (
        name: string,
        attributes: () => Record<string, string>,
        decode: (text: string) => string,
      ) => void,
    ): this;
    on(event: 'closeTag', take: (name: string) => void): this;
    on(event: 'text', take: (text: string, decode: (text: string) => string) => void): this;
    on(event: 'cdata' | 'comment' | 'attention', take: (text: string) => void): this;
    on(event: 'error', take: (error: Error) => void): this;
    write(chunk: string): this;
    end(): Error | undefined;
  }
}
