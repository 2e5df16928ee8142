/** A line and the JSON of its event. */
export type Item = { readonly line: string; readonly json: string };
