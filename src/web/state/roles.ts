import type { App } from "./app.ts";

/** Reports whether the account may change a log, not only read it. */
export function mayChange({ logs }: Pick<App, "logs">, log: string): boolean {
  return logs.value?.find(({ key }) => key === log)?.role === "admin";
}

/** Returns the text shown instead of controls for admins of the log. */
export function readsOnly(log: string): string {
  return `You may read ${log}, not change it. Its admins can.`;
}
