import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

import type { HookSignature } from "../../../catalog/catalog.ts";
import { standardKey } from "../../../catalog/hook-checks.ts";
import { headerText } from "./payload.ts";

/** Signed parts of a request: the bytes of the body as sent, and the headers. */
export type Signed = { readonly body: Buffer; readonly headers: IncomingHttpHeaders };

/** Largest difference between a signature's time and now, as in Standard Webhooks. */
const TOLERANCE_S = 300;
/** Senders that rotate their secret sign with both for a while. */
const MAX_SIGNATURES = 16;
/** Header prefixes of Standard Webhooks, and of Svix, where they originated. */
const STANDARD_PREFIXES = ["webhook", "svix"] as const;

const HEADERS: Readonly<Record<Exclude<HookSignature, "none">, readonly string[]>> = {
  // Others than GitHub, which sends SHA-1 there, name the algorithm in the older header.
  github: ["x-hub-signature-256", "x-hub-signature"],
  standard: STANDARD_PREFIXES.map((prefix) => `${prefix}-signature`),
  sentry: ["sentry-hook-signature"],
  grafana: ["x-grafana-alerting-signature"],
  gitlab: ["x-gitlab-token"],
};

/** Returns the unverified signature of a request; "" if there is none. */
export function signatureHeader(signature: HookSignature, headers: IncomingHttpHeaders): string {
  if (signature === "none") return "";
  return HEADERS[signature].map((name) => headerText(headers, name)).find((value) => value !== "") ?? "";
}

/** Returns whether a request is signed with this secret. Comparisons take constant time. */
export function isSigned(signature: HookSignature, secret: string, signed: Signed, now_ms: number): boolean {
  const given = signatureHeader(signature, signed.headers);
  if (given === "") return false;
  switch (signature) {
    case "none":
      return false;
    case "github":
      return given.startsWith("sha256=") && isEqual(fromHex(given.slice("sha256=".length)), hmac(secret, signed.body));
    case "sentry":
      return isEqual(fromHex(given), hmac(secret, signed.body));
    case "grafana":
      return isSignedByGrafana(secret, given, signed, now_ms);
    case "gitlab":
      return isEqual(sha256(given), sha256(secret));
    case "standard":
      return isSignedByStandard(standardPrefix(signed.headers), secret, signed, now_ms);
    default:
      return signature satisfies never;
  }
}

/**
 * Returns the sender's id of a delivery, which is the same if it is repeated; "" if there is none.
 * Of signed requests only the signed id counts, so that a body cannot be replayed under another id.
 */
export function deliveryId(signature: HookSignature, headers: IncomingHttpHeaders): string {
  const names =
    signature === "standard" ? [`${standardPrefix(headers)}-id`] : ["x-github-delivery", "webhook-id", "svix-id"];
  return names.map((name) => headerText(headers, name)).find((id) => id !== "") ?? "";
}

/** Returns the first prefix with a signature, which is not verified. */
function standardPrefix(headers: IncomingHttpHeaders): string {
  return STANDARD_PREFIXES.find((prefix) => headerText(headers, `${prefix}-signature`) !== "") ?? STANDARD_PREFIXES[0];
}

function isSignedByStandard(prefix: string, secret: string, { body, headers }: Signed, now_ms: number): boolean {
  const [id, timestamp, signatures] = ["id", "timestamp", "signature"].map((name) =>
    headerText(headers, `${prefix}-${name}`),
  ) as [string, string, string];
  const key = standardKey(secret);
  if (id === "" || signatures === "" || key === null || !isNow(timestamp, now_ms)) return false;
  const expected = hmac(key, `${id}.${timestamp}.`, body);
  let isRight = false;
  for (const one of signatures.split(" ", MAX_SIGNATURES)) {
    const [version, base64 = ""] = one.split(",", 2);
    if (version === "v1" && isEqual(Buffer.from(base64, "base64"), expected)) isRight = true;
  }
  return isRight;
}

/** Verifies Grafana's signature, which covers the time header if there is one. */
function isSignedByGrafana(secret: string, given: string, { body, headers }: Signed, now_ms: number): boolean {
  const timestamp = headerText(headers, "x-grafana-alerting-timestamp");
  if (timestamp === "") return isEqual(fromHex(given), hmac(secret, body));
  return isNow(timestamp, now_ms) && isEqual(fromHex(given), hmac(secret, `${timestamp}:`, body));
}

function isNow(timestamp_s: string, now_ms: number): boolean {
  return /^\d{1,12}$/.test(timestamp_s) && Math.abs(Number(timestamp_s) - now_ms / 1000) <= TOLERANCE_S;
}

function hmac(key: string | Buffer, ...parts: readonly (string | Buffer)[]): Buffer {
  const hash = createHmac("sha256", key);
  for (const part of parts) hash.update(part);
  return hash.digest();
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function fromHex(text: string): Buffer {
  return /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, "hex") : Buffer.alloc(0);
}

function isEqual(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}
