import { useEffect, useRef } from "preact/hooks";

import type { OpenRowOptions } from "./open-named.ts";

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
    // Loaded on use. Without it, the list is shown as it is.
    if (named !== null)
      import("./open-named.ts").then(
        ({ openNamed }) => openNamed(named, { app, results, run, source, control }),
        () => undefined,
      );
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
