import type { Endpoint } from "../endpoint.ts";
import { PostAnswer, PostOrBatchAnswer, VisitAnswer } from "../schemas/answers.ts";
import { PostForm, PostJson, PostLines, VisitForm } from "../schemas/posts.ts";

const base = { tag: "posting", who: "posting key" } as const;
const event = {
  ...base,
  answers: { 201: { what: "The bus holds the event durably", schema: PostAnswer, headers: ["X-Loggia-Hint"] } },
  errors: ["bad_event", "bus_unavailable", "path_not_found"],
} as const;
const visit = {
  ...base,
  answers: { 201: { what: "The bus holds the report durably", schema: VisitAnswer, headers: ["X-Loggia-Hint"] } },
  errors: ["bad_user", "bus_unavailable", "path_not_found"],
} as const;

/** Endpoints of the posting listener, which has handlers of its own. Paths are relative to its `/1`. */
export const POSTING_ENDPOINTS: readonly Endpoint[] = [
  {
    ...event,
    method: "POST",
    path: "/logs/:log/events",
    id: "postEvent",
    summary:
      "Post an event as a form or as JSON, or a batch of at most 5,000 as JSON. The key of JSON is not in the body. " +
      "Instead of an invalid event, the log gets an error event. " +
      "With an Idempotency-Key, JSON that is sent again with the same API key within a day is stored only once",
    form: PostForm,
    json: PostJson,
    lines: PostLines,
    answers: {
      201: { what: "The bus holds all events durably", schema: PostOrBatchAnswer, headers: ["X-Loggia-Hint"] },
    },
    errors: [...event.errors, "conflict"],
  },
  {
    ...event,
    method: "GET",
    path: "/logs/:log/events",
    id: "postEventByJsonp",
    summary: "The same for pages of other sites: with fmt=jsonp and a callback, and the fields in the query string",
    query: PostForm,
    required: ["apikey", "text"],
  },
  {
    ...visit,
    method: "POST",
    path: "/logs/:log/users",
    id: "postUser",
    summary: "Report a user of the producer's application",
    form: VisitForm,
  },
  {
    ...visit,
    method: "GET",
    path: "/logs/:log/users",
    id: "postUserByJsonp",
    summary: "The same for pages of other sites: with fmt=jsonp and a callback, and the fields in the query string",
    query: VisitForm,
    required: ["apikey", "user"],
  },
];
