import { LoggiaError } from "../../errors.ts";
import { USUAL_TIMES } from "../../ingest/kit/time-forms.ts";
import type { DateOrder, TimeReading } from "../../ingest/kit/time-forms.ts";
import { compileTimeFormat } from "../../ingest/kit/time-format.ts";
import { localZoneNamed, localZoneOfMachine } from "../../ingest/kit/time-zones.ts";
import { CommandError } from "../request.ts";
import { LINE_FORMATS } from "./formats.ts";

export type TimeOptions = {
  /** Order of day and month in dates such as 05/06/2011. Default: such dates are not read */
  readonly dates?: DateOrder;
  /** Format of times in strptime's directives, which is tried before the known forms. */
  readonly timeFormat?: string;
  /** Zone of times without one. Default: that of this machine */
  readonly tz?: string;
  /** Name of a format of lines, which may have a format of times. */
  readonly format?: string;
};

/**
 * Returns how the times of lines are read.
 * @throws CommandError if the format or the zone is invalid
 */
export function readTimeOptions({ dates, format: lines = "", tz, ...given }: TimeOptions): TimeReading {
  const timeFormat = given.timeFormat ?? LINE_FORMATS.get(lines)?.timeFormat;
  const format = timeFormat === undefined ? null : compileTimeFormat(timeFormat);
  if (typeof format === "string") throw new CommandError(`--time-format ${timeFormat} can't be used: ${format}`);
  return { ...USUAL_TIMES, local: localZoneOf(tz), dates: dates ?? null, format };
}

function localZoneOf(tz: string | undefined): TimeReading["local"] {
  if (tz === undefined) return localZoneOfMachine(Date.now());
  try {
    return localZoneNamed(tz, Date.now());
  } catch (error) {
    if (!(error instanceof LoggiaError)) throw error;
    throw new CommandError(error.message.replace("The parameter tz", "--tz"), { cause: error });
  }
}
