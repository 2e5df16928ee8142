import { badParameter } from "../query/parameters.ts";

/** Totals are exact up to this many records. */
const EXACT_UP_TO = 10_000;

/** How far records are counted, and the header with the total. */
export type Total = {
  readonly countUpTo: number;
  readonly headers: (total: number) => Readonly<Record<string, string>>;
};

/**
 * Reads the parameter `total`. If it is `exact`, all records are counted; by default up to 10,000.
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
    // One more shows whether there is a next page.
    countUpTo: isExact ? Infinity : Math.max(EXACT_UP_TO, skip + take) + 1,
    headers: (total) =>
      isExact || total <= EXACT_UP_TO
        ? { "X-Total-Count": String(total) }
        : { "X-Total-At-Least": String(EXACT_UP_TO) },
  };
}
