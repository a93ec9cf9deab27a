import { allRuns, testRuns } from './fault-matrix.js';

testRuns(
  'a fault harms only what it hits: each read endpoint, each kind of failure, once, for a while and always',
  allRuns(0),
);
