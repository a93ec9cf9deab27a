import { defaultSizes } from '../../../../src/sandbox/world/generate.js';
import type { WorldSizes } from '../../../../src/sandbox/world/types.js';

/** Small enough to be generated many times, large enough to contain every kind of entity. */
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
