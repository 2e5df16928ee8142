import type { ComponentChildren, JSX } from "preact";

import { Icon } from "./icons.tsx";
import type { IconName } from "./icons.tsx";

export type MessageAction = { readonly label: string; readonly act: () => void; readonly solid?: boolean };

/** Reports a problem or delay in place, with actions that help. */
export function Message(properties: {
  readonly kind?: "bad" | "warn" | "plain";
  readonly icon?: IconName;
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly actions?: readonly MessageAction[];
  /** Whether changes are not announced, since the caller announces what matters. */
  readonly isQuiet?: boolean;
}): JSX.Element {
  const { kind = "plain", icon = kind === "plain" ? "info" : "warning", title, children, actions = [] } = properties;
  const role = properties.isQuiet === true ? undefined : kind === "bad" ? "alert" : "status";
  return (
    <div class={kind === "plain" ? "msg" : `msg ${kind}`} role={role}>
      <Icon name={icon} />
      <div>
        <h2>{title}</h2>
        {children !== undefined && <p>{children}</p>}
        {actions.length > 0 && (
          <div class="acts">
            {actions.map(({ label, act, solid }) => (
              <button class={solid === true ? "btn small solid" : "btn small"} type="button" onClick={act}>
                {label}
              </button>
            ))}
          </div>
        )}
      </div>
    </div>
  );
}
