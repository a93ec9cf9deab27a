import { ContractError, RejectedError } from '../base/errors.js';
import type { Endpoint } from '../contract/endpoints.js';
import type { Api, CallOptions } from './client.js';
import { type ListAnswer, readList, seen } from './page-form.js';
import type { Learned } from './paging-memory.js';
import { type AnyRequest, prepare } from './request.js';

/** One page as it was answered. */
export interface ReadPage extends ListAnswer {
  readonly arrivedAt: Date;
  readonly bytes: number;
}

/** What paging needs of the client. */
export type Caller = Pick<Api, 'get' | 'contract' | 'paging'>;

/** Asks for single pages of one list. */
export class PageReader {
  readonly learned: Learned;
  readonly #api: Caller;
  readonly #name: string;
  readonly #endpoint: Endpoint;
  readonly #request: AnyRequest;
  readonly #options: CallOptions;

  constructor(api: Caller, name: string, request: AnyRequest, options: CallOptions) {
    this.#api = api;
    this.#name = name;
    const endpoint = api.contract[name];
    if (!endpoint) throw new Error(`there is no endpoint ${name}`);
    this.#endpoint = endpoint;
    this.#request = request;
    this.#options = options;
    this.learned = api.paging.about(name);
  }

  /** Whether the contract knows pages for this endpoint; the other lists come whole. */
  get pageable(): boolean {
    return 'page' in (this.#endpoint.query?.shape ?? {});
  }

  /** The size that is asked for: the caller's, else the setting's; undefined when the server refuses to be asked. */
  get askedSize(): number | undefined {
    const { limitParameter, pageSize } = this.#api.paging.settings;
    const own = this.#request.query?.[limitParameter];
    if (own !== undefined) return Number(own);
    return this.pageable && !this.learned.sizeRefused ? pageSize : undefined;
  }

  /** The first page, asked for without a number. A size that is answered 400 is asked for again without one. */
  async first(): Promise<ReadPage> {
    const { limitParameter } = this.#api.paging.settings;
    const ours = this.askedSize !== undefined && this.#request.query?.[limitParameter] === undefined;
    try {
      return await this.#read(undefined);
    } catch (error) {
      if (!ours || !(error instanceof RejectedError) || error.status !== 400) throw error;
      this.learned.sizeRefused = true;
      try {
        return await this.#read(undefined);
      } catch {
        // It was not the size, then: the first answer says what it was.
        delete this.learned.sizeRefused;
        throw error;
      }
    }
  }

  /** The page with that number. */
  async page(number: number): Promise<ReadPage> {
    return this.#read(number);
  }

  /** An error that names endpoint, page and the setting that may be wrong. */
  broken(
    problem: string,
    number: number | undefined,
    setting: 'pageParameter' | 'limitParameter',
  ): ContractError {
    const { where } = prepare(this.#name, this.#endpoint, this.#queryFor(number));
    const parameter = this.#api.paging.settings[setting];
    return new ContractError(`${this.#name}: ${where.method} ${where.path} ${problem}`, where, {
      hint: `Check the setting api.paging.${setting} (now '${parameter}') against the service.`,
    });
  }

  async #read(number: number | undefined): Promise<ReadPage> {
    const request = this.#queryFor(number);
    const answer = await this.#api.get(this.#name, request, this.#options);
    const list = readList(answer.body, this.#endpoint.path);
    if (list) return { ...list, arrivedAt: answer.arrivedAt, bytes: answer.bytes };
    const { where } = prepare(this.#name, this.#endpoint, request);
    const page = number === undefined ? 'first page' : `page ${number}`;
    throw new ContractError(
      `${this.#name}: ${where.method} ${where.path} has no list in its ${page}: it is ${seen(answer.body)}`,
      where,
      {
        hint: 'The service has changed, or the base URL points at something else: compare with its document.',
      },
    );
  }

  #queryFor(number: number | undefined): AnyRequest {
    const { pageParameter, limitParameter } = this.#api.paging.settings;
    const size = this.askedSize;
    const query = {
      ...this.#request.query,
      ...(number !== undefined && { [pageParameter]: number }),
      ...(size !== undefined && { [limitParameter]: size }),
    };
    return { ...this.#request, query };
  }
}
