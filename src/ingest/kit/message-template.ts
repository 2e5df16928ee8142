import { HIGHEST_LIMITS } from "../../events/limits.ts";
import type { MutableAttributes } from "./flatten.ts";

/** Names of attributes that are message templates, as Serilog writes them. */
const TEMPLATES: ReadonlySet<string> = new Set(["@mt", "MessageTemplate"]);

/** Returns whether the attribute with a name is a message template. */
export function isTemplateName(name: string): boolean {
  return TEMPLATES.has(name);
}

/** Matches a placeholder, which may have an alignment or a format. */
const PLACEHOLDER = /\{[@$]?(\w{1,100})(?:[,:][^{}]{0,100})?\}/g;

/**
 * Returns a message template with the values of its placeholders. Those without a value stay, and
 * so do those that follow once the text is as long as the longest that an event holds.
 */
export function renderedTemplate(template: string, attributes: MutableAttributes): string {
  let left_units = HIGHEST_LIMITS.data;
  return template.replaceAll(PLACEHOLDER, (placeholder: string, name: string) => {
    const value = attributes.get(name) ?? attributes.get(`Properties.${name}`);
    if (value === undefined || left_units === 0) return placeholder;
    const text = String(value).slice(0, left_units);
    left_units -= text.length;
    return text;
  });
}
