/** The units of everything that is shown to people; the status page has the same ones. */
export * from '../../base/units.js';
