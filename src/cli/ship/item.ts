/** A line and the JSON of its event. */
export type ShippedLine = { readonly line: string; readonly json: string };
