import { createHash } from "node:crypto";

import { LoggiaError } from "../../../errors.ts";
import { SharedParts } from "../../kit/amplification.ts";
import { flattenInto, put } from "../../kit/flatten.ts";
import type { MutableAttributes } from "../../kit/flatten.ts";
import { isObject } from "../../kit/json.ts";
import { CUT_TAG, tagIfCut } from "../../kit/cut-tag.ts";
import type { ProducerEvent, ReadEvent, Received } from "../../kit/endpoint.ts";
import { parseSeverity } from "../../kit/severity.ts";
import { readProducerTime } from "../../kit/times.ts";
import { at, payloadItems, payloadObject, textAt, payloadText, MAX_COMMON_LENGTH } from "./payload.ts";
import type { PayloadFields } from "./payload.ts";

/** Members of the group that are added to each of its alerts. */
const OF_GROUP = ["receiver", "groupKey", "externalURL", "truncatedAlerts", "orgId"] as const;
/** Matches a time that is not set. */
const NEVER = /^0001-/;

/**
 * Decodes the alerts of a notification of Alertmanager (version 4), or of Grafana in the same form.
 * https://prometheus.io/docs/alerting/latest/configuration/#webhook_config
 * @throws LoggiaError `bad_body`
 */
export function* decodeAlerts(received: Received): Generator<ReadEvent> {
  const group = yield* payloadObject(received);
  const alerts = yield* payloadItems(group, ["alerts"]);
  if (alerts === null) throw new LoggiaError("bad_body", "The body has no array of alerts");
  const common = commonOf(group.value);
  const parts = new SharedParts(received);
  const size_bytes = Object.values(common.fields).join("").length;
  for (const alert of alerts) {
    if ("fault" in alert) yield alert;
    else if (isObject(alert.value)) {
      const ofGroup = parts.allows(size_bytes) ? common : NOTHING_COMMON;
      yield tagIfCut(alert.isCut, eventOf(alert.value, ofGroup));
    } else yield { fault: "an alert is not an object" };
  }
}

/** Shortened members of the group for all its alerts, and whether something was cut. */
type Common = { readonly fields: PayloadFields; readonly isCut: boolean };

const NOTHING_COMMON: Common = { fields: {}, isCut: true };

function commonOf(group: PayloadFields): Common {
  const common = [...OF_GROUP, "status"].flatMap((name): [string, string | number][] => {
    const value = group[name];
    if (typeof value === "string") return [[name, value.slice(0, MAX_COMMON_LENGTH)]];
    return typeof value === "number" ? [[name, value]] : [];
  });
  const isCut = common.some(([name]) => textAt(group, name).length > MAX_COMMON_LENGTH);
  return { fields: Object.fromEntries(common), isCut };
}

function eventOf(alert: PayloadFields, { fields: group, isCut }: Common): ProducerEvent {
  const status = textAt(alert, "status") || textAt(group, "status") || "firing";
  const [name, said] = [
    textAt(alert, "labels.alertname"),
    textAt(alert, "annotations.summary", "annotations.title", "annotations.message", "annotations.description"),
  ];
  const description = textAt(alert, "annotations.description", "annotations.message");
  const isResolved = status === "resolved";
  const hasEnded = !NEVER.test(textAt(alert, "endsAt"));
  const attributes: MutableAttributes = new Map();
  flattenInto(attributes, alert);
  if (!hasEnded) attributes.delete("endsAt");
  for (const name of OF_GROUP) {
    const value = group[name];
    if (typeof value === "string" || (typeof value === "number" && value !== 0)) put(attributes, name, value);
  }
  return {
    id: idOf(alert, status, isResolved),
    text: [name, said].filter((part) => part !== "").join(": "),
    ...(description !== "" && description !== said && { data: description }),
    severity: parseSeverity(textAt(alert, "labels.severity", "labels.level", "labels.priority")),
    source: textAt(alert, "labels.service", "labels.app", "labels.job", "labels.instance") || textAt(group, "receiver"),
    link: textAt(alert, "generatorURL", "panelURL", "dashboardURL") || textAt(group, "externalURL"),
    value: valueOf(alert),
    geo: null,
    tags: isCut ? [status, CUT_TAG] : [status],
    time: readProducerTime(alert[isResolved && hasEnded ? "endsAt" : "startsAt"]),
    attributes,
  };
}

/** Returns the id of an alert. Repeated notifications of the same state have the same id. */
function idOf(alert: PayloadFields, status: string, isResolved: boolean): string {
  const end = isResolved ? textAt(alert, "endsAt") : "";
  const which = textAt(alert, "fingerprint") || fingerprintOf(alert["labels"]);
  return [which, status, textAt(alert, "startsAt"), end].join(" ");
}

/** Returns a fingerprint of the labels. Releases before 0.17 send none. */
function fingerprintOf(labels: unknown): string {
  const pairs = isObject(labels) ? Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)) : [];
  const hash = createHash("sha256");
  for (const [name, value] of pairs) hash.update(`${name}=${payloadText(value)}\n`);
  return hash.digest("base64url");
}

/** Returns the value that Grafana measured, if it is a single number. */
function valueOf(alert: PayloadFields): number | null {
  const values = at(alert, "values");
  const all = isObject(values) ? Object.values(values) : [];
  const [value] = all;
  return all.length === 1 && typeof value === "number" && Number.isFinite(value) ? value : null;
}
