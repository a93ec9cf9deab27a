/** Takes what is written to a stream, and afterwards the listeners away that a command left on it. */
export function take(stream: NodeJS.WriteStream): { text(): string; release(): void } {
  const { write } = stream;
  const listeners = stream.listeners('error');
  const parts: string[] = [];
  stream.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
    parts.push(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8'));
    const done = rest.at(-1);
    if (typeof done === 'function') process.nextTick(done as () => void);
    return true;
  };
  return {
    text: () => parts.join(''),
    release() {
      stream.write = write;
      for (const listener of stream.listeners('error'))
        if (!listeners.includes(listener)) stream.off('error', listener as () => void);
    },
  };
}
