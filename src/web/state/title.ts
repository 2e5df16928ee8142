import { useEffect } from "preact/hooks";

import type { App } from "./app.ts";

/** Sets the page's title. @param log "" if the page belongs to no log */
export function useTitle({ title }: App, text: string, log: string): void {
  useEffect(() => {
    title.value = [text, log, "Loggia"].filter((word) => word !== "").join(", ");
  }, [text, log]);
}
