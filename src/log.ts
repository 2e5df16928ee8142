import { pino } from "pino";
import type { DestinationStream, Logger } from "pino";

import type { Settings } from "./settings.ts";

export type LogOptions = {
  readonly level: Settings["logLevel"];
  /** What stands in the log as `[redacted]`, wherever it may turn up. */
  readonly secrets: readonly string[];
  readonly destination: DestinationStream;
};

const REDACTED = "[redacted]";
/** Shorter ones would redact half of the log. */
const SECRET_LENGTH = 6;
const CAUSES = 5;

/** Fields whose values never belong into a log, whoever puts them there. */
const SECRET_FIELDS = ["password", "apikey", "apiKey", "secret", "authorization", "Authorization", "credentials"];

/**
 * The log of a process: lines of JSON. Nothing in it can break a line or begin another, for JSON
 * escapes control characters; and no secret of the operator's gets into it, not even by the message
 * of a library. Of errors it holds what they say and where they come from, but not what clients of
 * engines hang on to them: requests with their headers, documents with people's words.
 */
export function createLog({ level, secrets, destination }: LogOptions): Logger {
  const hidden = secrets
    .filter((secret) => secret.length >= SECRET_LENGTH)
    .map((secret) => JSON.stringify(secret).slice(1, -1));
  return pino(
    {
      level,
      serializers: { err: describeError },
      redact: { paths: SECRET_FIELDS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: REDACTED },
      hooks: {
        streamWrite: (line) => escapeRest(hidden.reduce((text, secret) => text.replaceAll(secret, REDACTED), line)),
      },
    },
    destination,
  );
}

/**
 * What JSON leaves as it is, and still steers a terminal or breaks a line: further control
 * characters, and marks of direction.
 */
const STEERING = /[\u007f-\u009f\p{Bidi_Control}\u2028\u2029]/gu;

function escapeRest(line: string): string {
  return line.replace(STEERING, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The secrets that an operator's settings hold. */
export function secretsOf({ admin, log, engines, mail, listeners }: Settings): string[] {
  const shared = Object.values(listeners).flatMap((sockets) => sockets.flatMap(({ routes }) => routes));
  const cluster =
    engines.kind === "cluster" ? [engines.kafka.sasl?.password, ...authOf(engines.elasticsearch.auth)] : [];
  return [
    admin?.password,
    log?.apiKey,
    mail?.credentials?.password,
    ...shared.map(({ sharedKey }) => sharedKey),
    ...cluster,
  ].filter((secret) => typeof secret === "string");
}

function authOf(auth: { password: string } | { apiKey: string } | null): string[] {
  return auth === null ? [] : "apiKey" in auth ? [auth.apiKey] : [auth.password];
}

function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const stacks: string[] = [];
  for (let cause: unknown = error, n = 0; cause instanceof Error && n < CAUSES; cause = cause.cause, n++) {
    stacks.push(cause.stack ?? String(cause));
  }
  const { code } = error as { code?: unknown };
  return {
    type: error.name,
    ...(code !== undefined && { code }),
    message: error.message,
    stack: stacks.join("\ncaused by: "),
  };
}
