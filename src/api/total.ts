import { badParameter } from "../query/parameters.ts";

/** Totals are exact up to this many records. */
const COUNTED = 10_000;

/** How far the records of a call are counted, and the header that tells how many there are. */
export type Total = {
  readonly countUpTo: number;
  readonly headers: (total: number) => Readonly<Record<string, string>>;
};

/**
 * Reads the parameter `total`: all records are counted where it is `exact`, and 10,000 where it is
 * absent.
 * @throws LoggiaError `bad_parameter`
 */
export function readTotal(
  query: URLSearchParams,
  { skip, take }: { readonly skip: number; readonly take: number },
): Total {
  const asked = query.get("total") ?? "";
  if (asked !== "" && asked !== "exact") throw badParameter("total", asked, "exact, or left out");
  const isExact = asked === "exact";
  return {
    // One more tells whether there is a next page.
    countUpTo: isExact ? Infinity : Math.max(COUNTED, skip + take) + 1,
    headers: (total) =>
      isExact || total <= COUNTED ? { "X-Total-Count": String(total) } : { "X-Total-At-Least": String(COUNTED) },
  };
}
