import { useEffect, useRef } from "preact/hooks";

import type { App } from "../app.ts";
import type { Run } from "../state/search.ts";
import type { ListControl } from "./control.ts";
import type { Results } from "./results.ts";
import type { RowSource } from "./row-source.ts";
import type { Sought } from "./seek-event.ts";

type Opening = {
  readonly app: App;
  readonly results: Results;
  readonly run: Run;
  readonly source: RowSource;
  readonly control: { readonly current: ListControl | null };
};

/**
 * Keeps the event that was opened last in the address, as a step that back returns from, and opens
 * the one that the address names, reading on until it is there.
 */
export function useOpenInAddress({ app, results, run, source, control }: Opening): void {
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
    // One that the address names may still be read: it was not closed.
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

/** Opens an event that a link names, and shows it in the upper third of the list. */
async function openNamed(id: string, { app, results, run, source, control }: Opening): Promise<void> {
  const sought = source.indexOf(id) === -1 ? await seek(app, run, id) : "near";
  const isShown = (): boolean => results.shown.peek()?.rows === source;
  if (sought === "far") {
    if (isShown() && app.location.place.peek().parameters.get("open") === id) showAmongNeighbours(app, results, id);
    return;
  }
  if (sought !== "near" || !(await results.find(id, source))) {
    // What failed is said by the list, and rows of an earlier run are not those that are shown.
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

/** Where the event is; what cannot be found out is left to reading on. */
async function seek(app: App, run: Run, id: string): Promise<Sought> {
  try {
    return await (await import("./seek-event.ts")).seekEvent(app, run, id);
  } catch {
    return "near";
  }
}

/** An event too far down to read on to it: it is opened where its neighbours are read around it. */
function showAmongNeighbours({ location }: App, results: Results, id: string): void {
  const { screen, parameters } = location.place.peek();
  if (screen !== "search") return;
  const next = new Map(parameters);
  next.delete("open");
  results.contextTop = null;
  results.contextOpen = id;
  location.amend({ screen: "context", part: id, parameters: next });
}
