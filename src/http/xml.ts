import { Builder } from "xml2js";

import { Moment } from "./moment.ts";

/** What may stand in an element: text, a number, a truth, nothing, child elements by name, or (for a list) an element for each item. */
export type XmlValue = XmlLeaf | readonly XmlValue[] | { readonly [element: string]: XmlValue };

type XmlLeaf = string | number | boolean | null | Moment;

export type XmlDocument = { readonly root: string; readonly content: XmlValue };

type BuilderValue = string | { [element: string]: BuilderValue | BuilderValue[] };

/** What XML 1.0 forbids even as a character reference: most control characters, lone surrogates, U+FFFE and U+FFFF. */
// oxlint-disable-next-line no-control-regex
const FORBIDDEN = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

/** What every document begins with. */
export const XML_DECLARATION = '<?xml version="1.0" encoding="utf-8"?>';

/** An XML document in UTF-8. Characters that XML 1.0 forbids become U+FFFD. Element names come from code, never from a caller. */
export function renderXml(document: XmlDocument): string {
  const builder = new Builder({
    rootName: document.root,
    xmldec: { version: "1.0", encoding: "utf-8" },
    renderOpts: { pretty: false },
    // A character outside the basic plane is two code units, which the builder would refuse.
    allowSurrogateChars: true,
  });
  return builder.buildObject(forBuilder(document.content));
}

/**
 * The builder throws on forbidden characters, empties dates, and drops empty lists where an empty element is meant;
 * so it is given nothing but clean strings, and objects and lists of them.
 */
function forBuilder(value: XmlValue): BuilderValue {
  if (value === null) return "";
  if (typeof value !== "object" || value instanceof Moment) return value.toString().replace(FORBIDDEN, "\ufffd");
  const elements: { [element: string]: BuilderValue | BuilderValue[] } = {};
  for (const [name, child] of Object.entries(value)) {
    elements[name] = isList(child) ? child.map(forBuilder) : forBuilder(child);
  }
  return elements;
}

function isList(value: XmlValue): value is readonly XmlValue[] {
  return Array.isArray(value);
}
