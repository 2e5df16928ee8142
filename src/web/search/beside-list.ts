/** Views beside the list of a search, loaded once its first rows are shown. */
export { FieldsPane } from "../fields/fields-pane.tsx";
export { Histogram } from "../histogram/histogram.tsx";
