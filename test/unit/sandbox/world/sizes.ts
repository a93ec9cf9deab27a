import { defaultSizes } from '../../../../src/sandbox/world/generate.js';
import type { WorldSizes } from '../../../../src/sandbox/world/types.js';

/** Small enough to be made many times over, large enough to have some of everything. */
export const smallSizes: WorldSizes = {
  ...defaultSizes,
  topics: 40,
  people: 90,
  companies: 12,
  messages: 700,
  channels: 8,
  stories: 6,
  templates: 3,
};
