import { fewRuns, testRuns } from '../support/fault-matrix.js';

testRuns('a fault harms only what it hits: each read endpoint and each kind of failure once', fewRuns());
