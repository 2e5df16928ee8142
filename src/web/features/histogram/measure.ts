import { visibleText } from "../../parts/text/visible-text.ts";
import type { MenuItems } from "../../parts/controls/menu.tsx";
import type { Figure, Measure } from "../../parts/histogram/bars.ts";

const FIGURES: Readonly<Record<Figure, string>> = { avg: "Average", min: "Minimum", max: "Maximum" };
/** Most fields in the menu, to keep it usable. */
const MOST_FIELDS = 8;

/** Parses `by` and `split` of an address: `avg(@took)`, and `none` for bars not split by class. */
export function readMeasure(by: string, split: string): Measure {
  const { kind, field } = /^(?<kind>\w+)\((?<field>value|@.+)\)$/.exec(by)?.groups ?? {};
  if (kind !== undefined && field !== undefined && Object.hasOwn(FIGURES, kind)) return { kind: kind as Figure, field };
  return split === "none" ? { kind: "count", isWhole: true } : { kind: "count" };
}

/** Writes a measure as {@link readMeasure} parses it; null for defaults. */
export function writeMeasure(measure: Measure): { readonly by: string | null; readonly split: string | null } {
  if (measure.kind !== "count") return { by: `${measure.kind}(${measure.field})`, split: null };
  return { by: null, split: measure.isWhole === true ? "none" : null };
}

export function measureName(measure: Measure): string {
  if (measure.kind === "count") return measure.isWhole === true ? "Count, not by class" : "Count";
  return `${FIGURES[measure.kind]} of ${visibleText(measure.field)}`;
}

/** Returns the menu of measures. */
export function measureItems(
  present: Measure,
  fields: readonly string[],
  choose: (measure: Measure) => void,
): MenuItems {
  const item = (choice: Measure) => ({
    label: measureName(choice),
    checked: measureName(choice) === measureName(present),
    act: () => choose(choice),
  });
  return [
    [item({ kind: "count" }), item({ kind: "count", isWhole: true })],
    ...fields
      .slice(0, MOST_FIELDS)
      .map((field) => (Object.keys(FIGURES) as Figure[]).map((kind) => item({ kind, field }))),
  ];
}
