import { fitting, showable } from './cell-text.js';
import { inWorkbook } from './neutral.js';

/** Characters that an XML parser changes, or that XML advises against: a workbook has `_x000D_` for them. */
const delicate = /[\r\x7f-\x9f\uFDD0-\uFDEF\uFFFD]/g;

const escaped = (sign: string) => `_x${sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`;

/** Text as it is given to the XML of a workbook, before its signs are escaped. */
export function workbookText(text: string): string {
  const written = fitting(inWorkbook(showable(text)))
    .replace(/_x(?=[0-9a-f]{4}_)/gi, '_x005F_x')
    .replace(delicate, escaped);
  // The library looks texts up in a plain object: it takes a cell `constructor` for what every object has, and the
  // workbook is corrupt. Spelled otherwise it is the same text.
  return Object.hasOwn(Object.prototype, written) ? escaped(written) + written.slice(1) : written;
}
