import * as answers from "../schemas/answers.ts";
import { NewTicket, SignIn } from "../schemas/inputs.ts";
import type { Operation } from "./operation.ts";

const base = { tag: "sessions", errors: [] } as const;

/** Operations to sign in and out with a cookie, by method and path of the router. */
export const SESSIONS: Readonly<Record<string, Operation>> = {
  "POST /1/session": {
    ...base,
    id: "signIn",
    summary: "Sign in: create a session with a cookie; a session whose cookie is sent along ends",
    callers: "anybody",
    json: SignIn,
    answers: {
      201: {
        what: "The account that is signed in, and when the session ends",
        schema: answers.OwnSession,
        headers: ["Set-Cookie"],
      },
    },
    errors: ["unauthorized", "forbidden", "too_many_requests", "bad_body", "body_too_large", "unsupported_media_type"],
  },
  "GET /1/session": {
    ...base,
    id: "readSession",
    summary: "Read who is signed in by the cookie",
    callers: "sessions",
    answers: { 200: { what: "The account that is signed in, and when the session ends", schema: answers.OwnSession } },
  },
  "DELETE /1/session": {
    ...base,
    id: "signOut",
    summary: "End the session of the cookie",
    callers: "sessions",
    answers: { 204: { what: "Signed out", headers: ["Set-Cookie"] } },
  },
  "POST /1/session/tickets": {
    ...base,
    id: "createTicket",
    summary: "Create a ticket for one GET of a path by a link or a frame, which cannot send X-Loggia",
    callers: "sessions",
    json: NewTicket,
    answers: { 201: { what: "The ticket", schema: answers.TicketRecord } },
  },
  "GET /1/sessions": {
    ...base,
    id: "listSessions",
    summary: "List the caller's sessions, oldest first",
    callers: "people",
    answers: { 200: { what: "The sessions", schema: answers.SessionList } },
  },
  "DELETE /1/sessions/:id": {
    ...base,
    id: "endSession",
    summary: "End one of the caller's sessions",
    callers: "people",
    answers: { 204: { what: "Ended" } },
    errors: ["session_not_found"],
  },
};
