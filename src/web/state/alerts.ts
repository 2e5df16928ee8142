import { signal } from "@preact/signals";
import type { ReadonlySignal, Signal } from "@preact/signals";

/** State of the account's alerts, shared by all screens. */
export type AlertState = {
  /** Number of unacknowledged alerts in all logs. */
  readonly unseen: Signal<number>;
  /** Id of the newest of them. */
  readonly newest: Signal<string | null>;
  /** Increases when a page of this browser acknowledges alerts or undoes that. */
  readonly changes: ReadonlySignal<number>;
  /** Announces such a change to all pages of this browser. */
  readonly changed: () => void;
};

export function createAlertState(): AlertState {
  const changes = signal(0);
  const channel = new BroadcastChannel("loggia-alerts");
  const rise = () => {
    changes.value += 1;
  };
  channel.addEventListener("message", rise);
  return {
    unseen: signal(0),
    newest: signal(null),
    changes,
    changed() {
      rise();
      // A channel has no target: this is not `window.postMessage`.
      // oxlint-disable-next-line unicorn/require-post-message-target-origin
      channel.postMessage(null);
    },
  };
}
