/** What is wrong with the jobs of a settings file: for every command, so it loads nothing else of the server. */
export { jobProblems } from '../serve/schedule/job.js';
