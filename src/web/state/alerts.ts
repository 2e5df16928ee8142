import { signal } from "@preact/signals";
import type { ReadonlySignal, Signal } from "@preact/signals";

/** What all screens know of the account's alerts. */
export type AlertState = {
  /** How many are not acknowledged, in all logs. */
  readonly unseen: Signal<number>;
  /** The id of the newest of them. */
  readonly newest: Signal<string | null>;
  /** Rises when a page of this browser has acknowledged some, or has taken that back. */
  readonly changes: ReadonlySignal<number>;
  /** Says so to all pages of this browser. */
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
