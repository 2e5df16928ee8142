import { useEffect, useRef } from "preact/hooks";

import type { App } from "../app.ts";
import type { Run } from "../state/search.ts";
import type { ListControl } from "./control.ts";
import type { Results } from "./results.ts";
import type { RowSource } from "./row-source.ts";
import type { SeekResult } from "./seek-event.ts";

type OpenRowOptions = {
  readonly app: App;
  readonly results: Results;
  readonly run: Run;
  readonly source: RowSource;
  readonly control: { readonly current: ListControl | null };
};

/**
 * Keeps the last opened event in the address, with a history entry, and opens the event that the
 * address names, reading pages until it is found.
 */
export function useOpenInAddress({ app, results, run, source, control }: OpenRowOptions): void {
  const named = app.location.place.value.parameters.get("open") ?? null;
  const opened = results.opened.value;
  const written = useRef<string | null>(null);
  const before = useRef<ReadonlySet<string>>(opened);

  useEffect(() => {
    if (named === written.current) return;
    const last = written.current;
    written.current = named;
    if (last !== null && app.location.isReturn()) control.current?.setOpen(last, false);
    if (named !== null) void openNamed(named, { app, results, run, source, control });
    before.current = results.opened.peek();
  }, [named, source]);

  useEffect(() => {
    const added = [...opened].findLast((id) => !before.current.has(id));
    // An event named by the address may still be loading: it was not closed.
    const isClosed = written.current !== null && before.current.has(written.current) && !opened.has(written.current);
    before.current = opened;
    const next = added ?? (isClosed ? null : undefined);
    if (next === undefined || next === written.current) return;
    written.current = next;
    const parameters = new Map(app.location.place.peek().parameters);
    if (next === null) parameters.delete("open");
    else parameters.set("open", next);
    app.location.go({ parameters });
  }, [opened]);
}

const NO_EXTRAS: ReadonlyMap<string, number> = new Map();

/** Opens the event of a link and shows it in the upper third of the list. */
async function openNamed(id: string, { app, results, run, source, control }: OpenRowOptions): Promise<void> {
  const sought = source.indexOf(id) === -1 ? await seek(app, run, id) : "near";
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
async function seek(app: App, run: Run, id: string): Promise<SeekResult> {
  try {
    return await (await import("./seek-event.ts")).seekEvent(app, run, id);
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
