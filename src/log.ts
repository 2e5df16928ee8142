import { pino } from "pino";
import type { DestinationStream, Logger } from "pino";

import type { Settings } from "./settings.ts";

export type LogOptions = {
  readonly level: Settings["logLevel"];
  /** Values that are logged as `[redacted]`, wherever they occur. */
  readonly secrets: readonly string[];
  readonly destination: DestinationStream;
};

const REDACTED = "[redacted]";
/** Shortest secret that is redacted. Shorter ones would redact much of the log. */
const SECRET_LENGTH = 6;
const CAUSES_MAX = 5;

/** Fields whose values are never logged. */
const SECRET_FIELDS = ["password", "apikey", "apiKey", "secret", "authorization", "Authorization", "credentials"];

/**
 * Creates the log of a process: lines of JSON. No value can break a line, because JSON escapes
 * control characters, and no secret of the settings is logged, not even in a library's message.
 * Errors are logged with message and stack, without the properties that clients of engines attach:
 * requests with headers, documents with users' texts.
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
 * Characters that JSON does not escape but that control a terminal or break a line: further control
 * characters and bidirectional marks.
 */
const CONTROL_CHARACTERS = /[\u007f-\u009f\p{Bidi_Control}\u2028\u2029]/gu;

function escapeRest(line: string): string {
  return line.replace(CONTROL_CHARACTERS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Returns the secrets in an operator's settings. */
export function secretSettings({ admin, log, engines, channels, listeners }: Settings): string[] {
  const shared = Object.values(listeners).flatMap((sockets) => sockets.flatMap(({ routes }) => routes));
  const cluster =
    engines.kind === "cluster" ? [engines.kafka.sasl?.password, ...authOf(engines.elasticsearch.auth)] : [];
  return [
    admin?.password,
    log?.apiKey,
    ...channels.flatMap(({ secrets }) => secrets),
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
  for (let cause: unknown = error, n = 0; cause instanceof Error && n < CAUSES_MAX; cause = cause.cause, n++) {
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
