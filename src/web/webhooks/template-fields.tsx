import type { JSX } from "preact";

import type { FieldFault } from "./draft.ts";
import { Field } from "./field.tsx";
import { FIELD_NAMES, TEMPLATE_FIELDS } from "./template.ts";
import type { Template } from "./template.ts";

/** What of a body becomes which field of its event: texts with paths in braces. */
export function TemplateFields(properties: {
  readonly template: Template;
  readonly fault: FieldFault | null;
  readonly onChange: (template: Template) => void;
}): JSX.Element {
  const { template, fault, onChange } = properties;
  return (
    <fieldset aria-describedby="template-help">
      <legend>Template</legend>
      <p class="help" id="template-help">
        A path in braces stands for a value of the body: <code>{"{sender.login}"}</code>. <code>{"{a|b}"}</code> takes
        the first that is not empty, <code>{"{$.a}"}</code> looks in the whole body beside a list of events, and{" "}
        <code>{"{$header.x-name}"}</code> in the headers. All other values become attributes. Without any template, text
        is what the body calls message, text, title or summary, and time, severity, source and user are looked for.
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
