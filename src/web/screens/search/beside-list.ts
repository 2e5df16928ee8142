/** Views beside the list of a search, loaded once its first rows are shown. */
export { FieldsPane } from "../../features/fields/fields-pane.tsx";
export { Histogram } from "../../features/histogram/histogram.tsx";
