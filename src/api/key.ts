/** The API key of a client, which may be replaced while the client runs. No message or error holds it. */
export class ApiKey {
  #current: string;
  /** A server may quote any of them. */
  readonly #used: string[];
  readonly #read: (() => string) | undefined;

  /**
   * `read` reads it again, where it is in a file. Both are checked with the settings: the HTTP library rejects a key with a
   * line break, with an error that quotes the key.
   */
  constructor(key: string, read?: () => string) {
    this.#current = key;
    this.#used = [key];
    this.#read = read;
  }

  get current(): string {
    return this.#current;
  }

  /** Whether there is another key than this one, which the API refused: its file may have been replaced since. */
  hasReplaced(refused: string): boolean {
    if (this.#current !== refused) return true;
    try {
      this.#current = this.#read?.() ?? refused;
    } catch {
      // The refusal of the old key says what to do; the next run says what is wrong with the file.
      return false;
    }
    if (!this.#used.includes(this.#current)) this.#used.push(this.#current);
    return this.#current !== refused;
  }

  /** A text of the server, without the keys. */
  scrub(text: string): string {
    return this.#used.reduce((rest, key) => rest.replaceAll(key, '[redacted]'), text);
  }
}
