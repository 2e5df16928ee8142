import type { App } from "../../state/app.ts";
import type { Run } from "../../state/search.ts";
import type { ListControl } from "../../parts/list/control.ts";
import type { Results } from "../../state/results.ts";
import type { RowSource } from "../../parts/rows/row-source.ts";
import { seekEvent } from "./seek-event.ts";
import type { SeekResult } from "./seek-event.ts";

export type OpenRowOptions = {
  readonly app: App;
  readonly results: Results;
  readonly run: Run;
  readonly source: RowSource;
  readonly control: { readonly current: ListControl | null };
};

const NO_EXTRAS: ReadonlyMap<string, number> = new Map();

/** Opens the event of a link and shows it in the upper third of the list. */
export async function openNamed(id: string, options: OpenRowOptions): Promise<void> {
  const { app, results, source, control } = options;
  const sought = source.indexOf(id) === -1 ? await seek(options, id) : "near";
  const isShown = (): boolean => results.shown.peek()?.rows === source;
  if (sought === "far") {
    if (isShown() && app.location.place.peek().parameters.get("open") === id) showAmongNeighbours(app, results, id);
    return;
  }
  if (sought !== "near" || !(await results.find(id, source))) {
    // The list reports its own failure, and rows of an earlier run are not shown.
    if (isShown() && source.fault.peek() === null) results.missing.value = id;
    return;
  }
  if (results.opened.peek().has(id)) return;
  const list = control.current;
  list?.setOpen(id, true);
  const index = source.indexOf(id);
  if (list !== null && (index < list.view.seen.from || index >= list.view.seen.to))
    list.view.restore({ place: { id, offset: 104 }, extras: NO_EXTRAS });
}

/** Locates the event. On failure it counts as near, so that the list is read on. */
async function seek({ app, run }: OpenRowOptions, id: string): Promise<SeekResult> {
  try {
    return await seekEvent(app, run, id);
  } catch {
    return "near";
  }
}

/** Shows an event that is too far down the list among its neighbours. */
function showAmongNeighbours({ location }: App, results: Results, id: string): void {
  const { screen, parameters } = location.place.peek();
  if (screen !== "search") return;
  const next = new Map(parameters);
  next.delete("open");
  results.contextTop = null;
  results.contextOpen = id;
  location.amend({ screen: "context", part: id, parameters: next });
}
