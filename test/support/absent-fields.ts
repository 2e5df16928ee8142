/** The fields of an event that has only a text. */
export const ABSENT_FIELDS = Object.freeze({
  link: "",
  tags: [],
  source: "",
  user: "",
  value: null,
  geo: null,
  data: null,
  attributes: null,
});
