import type { JSX } from "preact";

import type { FieldFault } from "./draft.ts";
import { Field } from "./field.tsx";
import { FIELD_NAMES, TEMPLATE_FIELDS } from "./template.ts";
import type { TemplateTexts } from "./template.ts";

/** The fields of a template: texts with paths in braces that map a body to an event. */
export function TemplateFields(properties: {
  readonly template: TemplateTexts;
  readonly fault: FieldFault | null;
  readonly onChange: (template: TemplateTexts) => void;
}): JSX.Element {
  const { template, fault, onChange } = properties;
  return (
    <fieldset aria-describedby="template-help">
      <legend>Template</legend>
      <p class="help" id="template-help">
        A path in braces stands for a value of the body, such as <code>{"{sender.login}"}</code>. <code>{"{a|b}"}</code>{" "}
        takes the first that is not empty. <code>{"{$header.x-name}"}</code> is a header, and with a list of events{" "}
        <code>{"{$.a}"}</code> is a value outside of the list. All other values become attributes. If all fields are
        empty, the text is the message, title or summary of the body, and time, severity, source and user are found by
        their usual names.
      </p>
      {fault?.field === "template" && (
        <p class="err" role="alert">
          {fault.words}
        </p>
      )}
      <div class="pair">
        {FIELD_NAMES.map((name) => {
          const { label, example, help } = TEMPLATE_FIELDS[name];
          return (
            <Field
              key={name}
              id={`template-${name}`}
              label={label}
              value={template[name]}
              example={example}
              help={help}
              isCode
              fault={fault?.field === `template.${name}` ? fault.words : null}
              onInput={(text) => onChange({ ...template, [name]: text })}
            />
          );
        })}
      </div>
    </fieldset>
  );
}
