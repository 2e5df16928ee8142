import { useEffect } from "preact/hooks";

import type { App } from "../app.ts";

/** Says in the page's title what it shows. @param log "": it is of no log */
export function useTitle({ title }: App, text: string, log: string): void {
  useEffect(() => {
    title.value = [text, log, "Loggia"].filter((word) => word !== "").join(", ");
  }, [text, log]);
}
