/**
 * The names that a further published file (`publish.also`) may have: no path, and none of the worker's own files in the data
 * directory. The names of earlier publications are read from a file and deleted, so they are checked in the same way.
 */
export const publishedFileName = /^(?!(?:worker|signals|recovery)\.duckdb$)\w[\w.-]*\.duckdb$/i;
