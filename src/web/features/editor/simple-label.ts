/** Accessible name and placeholder of the box of simple mode, before and after its code is loaded. */
export const SIMPLE_LABEL = "Search for words";
export const SIMPLE_HINT = "Search for words, “a phrase”, field:value";
