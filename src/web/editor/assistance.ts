import type { ReadonlySignal, Signal } from "@preact/signals";
import type { ComponentType } from "preact";

import type { App } from "../app.ts";
import type { Search } from "../state/search.ts";
import type { Fault } from "./check.ts";

/** What the field of a query gives the assistant that joins it. */
export type AssistantProperties = {
  readonly app: App;
  readonly search: Search;
  readonly field: HTMLTextAreaElement;
  readonly fault: ReadonlySignal<Fault | null>;
  /** The id of the completion that the arrow keys chose. */
  readonly active: Signal<string | null>;
  /** Prefix of ids: `<id>-options`, `<id>-fault`. */
  readonly id: string;
};

/** What is loaded when the field is used. */
export type Assistance = {
  readonly Assistant: ComponentType<AssistantProperties>;
  readonly checkQuery: (text: string) => Fault | null;
};
