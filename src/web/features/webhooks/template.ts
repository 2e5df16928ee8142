import type { HookRecord } from "../../parts/api/types.ts";

/** The fields of a template in the order of the form, with an example and help for each. */
export const TEMPLATE_FIELDS = {
  text: { label: "Text", example: "{title} by {sender.login}", help: "Empty: all values, as JSON." },
  tags: {
    label: "Tags",
    example: "deploy {action} {labels}",
    help: "Separated by blanks. Each item of a list is a tag.",
  },
  severity: { label: "Severity", example: "{level}", help: "Such as error, warn or info. It becomes a tag." },
  source: { label: "Source", example: "{project.name|app}", help: "The program, project or host." },
  user: { label: "User", example: "{sender.login}", help: "Who did it." },
  value: { label: "Value", example: "{amount}", help: "A number to add up and compare." },
  link: { label: "Link", example: "{html_url}", help: "Where to read on." },
  created: { label: "Created", example: "{timestamp}", help: "Empty: when the request arrives." },
  data: { label: "Data", example: "{stack}", help: "More than the text says, such as a stack." },
  id: { label: "Id", example: "{delivery.id}", help: "An event that comes again under it is stored once." },
  each: { label: "List of events", example: "alerts", help: "The path of a list: each item is an event." },
} as const;
export type TemplateField = keyof typeof TEMPLATE_FIELDS;

/** The texts of a template as the form shows them; "" for an empty field. */
export type TemplateTexts = Readonly<Record<TemplateField, string>>;

export const FIELD_NAMES = Object.keys(TEMPLATE_FIELDS) as readonly TemplateField[];

export function templateTexts(template: Readonly<Record<string, unknown>>): TemplateTexts {
  return Object.fromEntries(FIELD_NAMES.map((field) => [field, textOf(template[field] ?? "")])) as TemplateTexts;
}

/** A list of tags is shown as one text, separated by blanks. */
function textOf(value: unknown): string {
  return Array.isArray(value) ? value.join(" ") : String(value);
}

export function isSameTemplate(one: TemplateTexts, other: TemplateTexts): boolean {
  return FIELD_NAMES.every((field) => one[field] === other[field]);
}

/**
 * The template as the API takes it; null if all fields are empty.
 * @param before the stored template: an unchanged list of tags stays a list
 */
export function templateOfTexts(texts: TemplateTexts, before: HookRecord["template"]): HookRecord["template"] {
  const filled = FIELD_NAMES.filter((field) => texts[field].trim() !== "").map((field) => {
    const kept = before?.[field];
    return [field, kept !== undefined && textOf(kept) === texts[field] ? kept : texts[field]];
  });
  return filled.length === 0 ? null : (Object.fromEntries(filled) as HookRecord["template"]);
}
