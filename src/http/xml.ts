import { Builder } from "xml2js";

import { Moment } from "./moment.ts";

/**
 * Content of an element: text, a number, a boolean, nothing, child elements by name, or (for a
 * list) one element for each item.
 */
export type XmlValue = XmlLeaf | readonly XmlValue[] | { readonly [element: string]: XmlValue };

type XmlLeaf = string | number | boolean | null | Moment;

export type XmlDocument = { readonly root: string; readonly content: XmlValue };

type BuilderValue = string | { [element: string]: BuilderValue | BuilderValue[] };
type Elements = { [element: string]: BuilderValue | BuilderValue[] };

/**
 * Characters that XML 1.0 forbids, even as references: most control characters, lone surrogates,
 * U+FFFE, U+FFFF.
 */
// oxlint-disable-next-line no-control-regex
const FORBIDDEN = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

/** The first line of every document. */
export const XML_DECLARATION = '<?xml version="1.0" encoding="utf-8"?>';

/** Names that are used as element names. XML allows more. */
const ELEMENT_NAME = /^[A-Za-z_][A-Za-z0-9_.-]*$/;

/** Names with a meaning for the builder or for this module. */
const TAKEN: ReadonlySet<string> = new Set(["_", "column"]);

/**
 * Renders an XML document in UTF-8. Characters that XML 1.0 forbids become U+FFFD. A name that is
 * not an element name, such as a column of a query, becomes the attribute of an element `column`.
 */
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

/** Renders an element as {@link renderXml} does within a document. */
export function renderElement(name: string, content: XmlValue): string {
  return renderXml({ root: name, content }).slice(XML_DECLARATION.length);
}

/**
 * Renders an element with an attribute `name` for each text:
 * `<attribute name="http.status">500</attribute>`. Each is yielded apart, as there may be tens of
 * thousands of them with a long name.
 */
export function* renderNamedTexts(element: string, name: string, texts: Iterable<string>): Generator<string> {
  const start = `<${element} name="${escapeAttribute(clean(name))}"`;
  for (const text of texts) yield text === "" ? `${start}/>` : `${start}>${escapeText(clean(text))}</${element}>`;
}

const TEXT_ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#xD;" };
const ATTRIBUTE_ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  '"': "&quot;",
  "\t": "&#x9;",
  "\n": "&#xA;",
  "\r": "&#xD;",
};

function escapeText(text: string): string {
  return text.replace(/[&<>\r]/g, (character) => TEXT_ESCAPES[character]!);
}

function escapeAttribute(text: string): string {
  return text.replace(/[&<"\t\n\r]/g, (character) => ATTRIBUTE_ESCAPES[character]!);
}

/**
 * Converts a value for the builder to clean strings, and objects and lists of them, because the
 * builder throws on forbidden characters, writes dates as empty, and drops empty lists instead of
 * writing empty elements.
 */
function forBuilder(value: XmlValue): BuilderValue {
  if (value === null) return "";
  if (typeof value !== "object" || value instanceof Moment) return clean(value.toString());
  const elements: Elements = Object.create(null) as Elements;
  const columns: BuilderValue[] = [];
  for (const [name, child] of Object.entries(value)) {
    if (!ELEMENT_NAME.test(name) || TAKEN.has(name)) columns.push(named(name, child));
    else elements[name] = isList(child) ? child.map(forBuilder) : forBuilder(child);
  }
  if (columns.length > 0) elements["column"] = columns;
  return elements;
}

/** Returns `<column name="avg(@took)">`. A list has an element `value` for each item. */
function named(name: string, child: XmlValue): BuilderValue {
  const attributes = { name: clean(name) };
  if (isList(child)) return { $: attributes, value: child.map(forBuilder) };
  const content = forBuilder(child);
  return typeof content === "string" ? { $: attributes, _: content } : { $: attributes, ...content };
}

function clean(text: string): string {
  return text.replace(FORBIDDEN, "\ufffd");
}

function isList(value: XmlValue): value is readonly XmlValue[] {
  return Array.isArray(value);
}
