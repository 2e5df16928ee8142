/** What stands beside the list of a search, loaded when the first rows are there. */
export { FieldsPane } from "../fields/fields-pane.tsx";
export { Histogram } from "../histogram/histogram.tsx";
