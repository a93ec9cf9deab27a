import { afterAll } from 'vitest';
import { removeTestFolders } from './test-folders.js';

// A setup file runs for each test file, also where test files share the modules that they import.
afterAll(removeTestFolders);
