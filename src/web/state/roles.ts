import type { App } from "../app.ts";

/** Whether the account may change a log, and not only read it. */
export function mayChange({ logs }: Pick<App, "logs">, log: string): boolean {
  return logs.value?.find(({ key }) => key === log)?.role === "admin";
}

/** What stands where an admin of the log finds controls. */
export function readsOnly(log: string): string {
  return `You may read ${log}, not change it. Its admins can.`;
}
