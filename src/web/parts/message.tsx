import type { ComponentChildren, JSX } from "preact";

import { Icon } from "./icons.tsx";
import type { IconName } from "./icons.tsx";

/** What went wrong, or takes long, said where it happened, with the acts that help. */
export function Message(properties: {
  readonly kind?: "bad" | "warn" | "plain";
  readonly icon?: IconName;
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly acts?: readonly { readonly label: string; readonly act: () => void; readonly solid?: boolean }[];
}): JSX.Element {
  const { kind = "plain", icon = kind === "plain" ? "info" : "warning", title, children, acts = [] } = properties;
  return (
    <div class={kind === "plain" ? "msg" : `msg ${kind}`} role={kind === "bad" ? "alert" : "status"}>
      <Icon name={icon} />
      <div>
        <h2>{title}</h2>
        {children !== undefined && <p>{children}</p>}
        {acts.length > 0 && (
          <div class="acts">
            {acts.map(({ label, act, solid }) => (
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
