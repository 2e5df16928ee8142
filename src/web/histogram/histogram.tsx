import type { JSX } from "preact";

import type { App } from "../app.ts";
import type { Search } from "../state/search.ts";

/** The events of the range over time. */
export function Histogram({ search }: { app: App; search: Search }): JSX.Element {
  return <figure class="hist" aria-label={`Events of ${search.log} over time`} />;
}
