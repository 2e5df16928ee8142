import type { JSX } from "preact";

import type { ClassOptions } from "./hiding.ts";

const OPTIONS = { alert: "Raise alerts", notify: "Send mail", hide: "Hide from lists" } as const;
export const NO_OPTIONS: ClassOptions = { alert: false, notify: false, hide: false };

/** A person's own options for a class; every reader of the log has these. */
export function OptionFields(properties: {
  readonly options: ClassOptions;
  readonly onChange: (options: ClassOptions) => void;
}): JSX.Element {
  const { options, onChange } = properties;
  return (
    <fieldset>
      <legend>For you alone</legend>
      {Object.entries(OPTIONS).map(([name, words]) => (
        <div class="tickbox">
          <input
            id={`option-${name}`}
            type="checkbox"
            checked={options[name as keyof ClassOptions]}
            onChange={(event) => onChange({ ...options, [name]: event.currentTarget.checked })}
          />
          <label for={`option-${name}`}>{words}</label>
        </div>
      ))}
    </fieldset>
  );
}
