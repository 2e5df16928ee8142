/** How moments are shown, on the clock of one zone. */
export type Moments = {
  /** `14:03:27.482` */
  readonly clock: (ms: number) => string;
  /** `Tue 24 Nov` */
  readonly day: (ms: number) => string;
  /** `24 Nov 2026, 14:03:24.115 +01:00` */
  readonly whole: (ms: number) => string;
};

/** @param timeZone by name */
export function momentsIn(timeZone: string): Moments {
  const time = { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 } as const;
  const clock = new Intl.DateTimeFormat("en-GB", { timeZone, ...time });
  const day = new Intl.DateTimeFormat("en-GB", { timeZone, weekday: "short", day: "numeric", month: "short" });
  const date = new Intl.DateTimeFormat("en-GB", { timeZone, day: "numeric", month: "short", year: "numeric" });
  const offset = new Intl.DateTimeFormat("en-GB", { timeZone, timeZoneName: "longOffset" });
  const offsetAt = (ms: number): string => {
    const name = offset.formatToParts(ms).find(({ type }) => type === "timeZoneName")?.value ?? "GMT";
    return name.replace("GMT", "") || "+00:00";
  };
  return {
    clock: (ms) => clock.format(ms),
    day: (ms) => day.format(ms).replace(",", ""),
    whole: (ms) => `${date.format(ms)}, ${clock.format(ms)} ${offsetAt(ms)}`,
  };
}
