import { launch, type Sandbox } from './launch.js';
import type { SandboxOptions } from './options.js';
import { defaultSizes, generate } from './world/generate.js';

export type { Sandbox } from './launch.js';
export type { SandboxOptions } from './options.js';

/**
 * Starts the whole Product-Signals service on localhost, with a generated organization unless one is handed in.
 * Rejects when the address cannot be listened on.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  return launch(options, options.world ?? generate({ ...defaultSizes, ...options.sizes }));
}
