import type { JSX } from "preact";

import type { App } from "../../state/app.ts";
import { useResource } from "../../parts/api/resource.ts";
import type { ClassOptions } from "../../state/hiding.ts";

const OPTIONS = { alert: "Raise alerts", notify: "Send mail", hide: "Hide from lists" } as const;
export const NO_OPTIONS: ClassOptions = { alert: false, notify: false, hide: false };

/** A person's own options for a class; every reader of the log has these. */
export function OptionFields(properties: {
  readonly app: App;
  readonly options: ClassOptions;
  readonly onChange: (options: ClassOptions) => void;
}): JSX.Element {
  const { app, options, onChange } = properties;
  const service = useResource<{ readonly mail: boolean }>(app, "/manage/1/posting");
  // Without a mail server only a choice made earlier can be taken back.
  const isOffered = (name: string) => name !== "notify" || options.notify || service.value.value?.mail === true;
  return (
    <fieldset>
      <legend>For you alone</legend>
      {Object.entries(OPTIONS).map(([name, words]) => (
        <div class="tickbox" hidden={!isOffered(name)}>
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
