import type { ReadonlySignal } from "@preact/signals";
import type { JSX } from "preact";

import type { HoldReason } from "./control.ts";
import type { FollowedEnd } from "./list-view.ts";

/** What a live tail adds to a list. */
export type Following = {
  readonly follow: ReadonlySignal<FollowedEnd>;
  readonly hold: (reason: HoldReason) => void;
  /** Called when the pointer that held the list is released. */
  readonly release: () => void;
  readonly gaps: ReadonlySignal<ReadonlyMap<string, () => JSX.Element>>;
};
