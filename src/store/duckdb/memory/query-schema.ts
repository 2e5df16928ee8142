import type { Blocks } from "../blocks/no-blocks.ts";
import type { AttributeColumns } from "../database/attributes.ts";
import type { LogNumbers } from "../database/logs.ts";
import { FOLDED_FIELDS } from "../database/schema.ts";
import type { FoldedField } from "../database/schema.ts";

/** The second day of 1970: no time zone has a negative time from here on. */
export const EARLY_MS = 86_400_000;

/**
 * Properties that some stored event may have and that make queries slower. A field has a separate folded form,
 * which must be read as well; a user is not spelled as `lower` would write it, so that it must be
 * folded in the query; or an event was created before {@link EARLY_MS}, where division needs a
 * correction.
 */
export const STATISTICS: readonly Statistic[] = [...FOLDED_FIELDS, "early", "upper-user"];
export type Statistic = FoldedField | "early" | "upper-user";

/** What a query is compiled against: columns, numbers of logs, and what stored values are like. */
export type QuerySchema = {
  readonly statistics: ReadonlySet<Statistic>;
  readonly logs: Pick<LogNumbers, "get">;
  readonly attributes: Pick<AttributeColumns, "locationOf" | "namesOf" | "hasOthers">;
  readonly blocks: Pick<Blocks, "rangesOf">;
};
