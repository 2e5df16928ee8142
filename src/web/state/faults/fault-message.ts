import { ApiFault, faultMessage } from "../../parts/api/client.ts";

/** What to tell the reader about a failed read, and what helps. */
export type FaultMessage = {
  readonly kind: "bad" | "warn" | "plain";
  readonly icon?: "clock";
  readonly title: string;
  readonly text: string;
  readonly help:
    /** Temporary: retried after a countdown, or as soon as possible. */
    | "count down"
    | "wait"
    /** The sign-in dialog opens, and the read is retried. */
    | "sign in"
    /** The query takes too long, or reads too much. */
    | "shorten"
    /** The query has a fault. */
    | "show query"
    | "other log"
    | "try";
};

/** Returns the message for a fault. @param log the requested log */
export function messageForFault(fault: unknown, log: string): FaultMessage {
  if (!(fault instanceof ApiFault)) return refused(faultMessage(fault));
  const { status, code, message, retryAfter_s } = fault;
  if (code === "bad_query") return refused(message);
  const queries = QUERIES_RUNNING.exec(message)?.groups?.["count"];
  if (status === 429 && queries !== undefined) {
    const running = queries === "1" ? "query is" : "queries are";
    const title = `${numberWord(Number(queries))} ${running} running for your account`;
    return { kind: "warn", icon: "clock", title, text: "This one starts by itself as soon as one ends.", help: "wait" };
  }
  if (TOO_LONG.test(message)) {
    return { kind: "warn", icon: "clock", title: "This query takes too long", text: `${message}.`, help: "shorten" };
  }
  if (code === "too_wide") {
    return {
      kind: "warn",
      icon: "clock",
      title: "This query reads too many events",
      text: `${message}.`,
      help: "shorten",
    };
  }
  if (code === "store_unavailable") return passing("The service cannot reach its events");
  if ((status === 429 || status === 503) && retryAfter_s !== null) return passing("The service is busy");
  if (status === 0 || status === 429 || status >= 500) return passing("No answer from the service");
  if (status === 401) {
    const text = "Sign in again and this page goes on where it was. Your query is kept.";
    return { kind: "plain", title: "Your session ended", text, help: "sign in" };
  }
  if (status === 403) {
    const text = "Its admins can give you a role that may.";
    return { kind: "bad", title: `You may not read the events of ${log}`, text, help: "try" };
  }
  if (code === "log_not_found") {
    const text = "Its admins can share it with you.";
    return { kind: "bad", title: `There is no log “${log}”, or it is not shared with you`, text, help: "other log" };
  }
  return { kind: "bad", title: "The service refused this", text: `${message}.`, help: "try" };
}

/** The service's message; the number depends on its settings. */
const QUERIES_RUNNING = /^You have (?<count>\d+) queries running/;
const TOO_LONG = /took longer than [\d.]+ s/;

function passing(title: string): FaultMessage {
  return { kind: "warn", title, text: "", help: "count down" };
}

/** Uses the place and the error as title; only the first line, since the query is visible. */
function refused(message: string): FaultMessage {
  const [line = ""] = message.split("\n", 1);
  const [, title, text = ""] = /^(.*?[^.])(?:\. (.*))?\.?$/s.exec(line) ?? [];
  return { kind: "bad", title: title ?? "This query cannot be answered", text, help: "show query" };
}

const NUMBERS = "No One Two Three Four Five Six Seven Eight Nine Ten Eleven Twelve".split(" ");

function numberWord(number: number): string {
  return NUMBERS[number] ?? String(number);
}
