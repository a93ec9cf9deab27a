/**
 * A Markdown table.
 * @param {readonly string[]} header
 * @param {readonly (readonly string[])[]} rows
 */
export function table(header, rows) {
  const line = (/** @type {readonly string[]} */ cells) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(header), `|${header.map(() => ' --- |').join('')}`, ...rows.map(line)].join('\n');
}

/** @param {string} text */
function cell(text) {
  return text.replaceAll('|', '\\|').replaceAll(/\s*\n\s*/g, ' ');
}
