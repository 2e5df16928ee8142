import type { App } from "../app.ts";

/** The log that was open last, or else the first one; "" where there is none. */
export function lastLog({ logs, preferences }: Pick<App, "logs" | "preferences">): string {
  const last = preferences.now.value.log;
  return logs.value?.find(({ key }) => key === last)?.key ?? logs.value?.[0]?.key ?? "";
}
