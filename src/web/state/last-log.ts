import type { App } from "./app.ts";

/** Returns the last opened log, else the first one; "" without any. */
export function lastLog({ logs, preferences }: Pick<App, "logs" | "preferences">): string {
  const last = preferences.now.value.log;
  return logs.value?.find(({ key }) => key === last)?.key ?? logs.value?.[0]?.key ?? "";
}
