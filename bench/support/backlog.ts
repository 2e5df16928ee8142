import { Partitioners } from "kafkajs";

import type { NewRecord } from "../../src/bus/bus.ts";
import type { ClassFilter } from "../../src/catalog/catalog.ts";
import type { LogKey, StoredEvent, UserId } from "../../src/events/event.ts";
import { parseLogKey } from "../../src/events/event.ts";
import { createIdSource } from "../../src/events/id.ts";
import { encodeLine, encodeRecord } from "../../src/events/record.ts";
import type { Alert } from "../../src/store/store.ts";
import { API_KEY, LOG, storedEvents } from "./events.ts";
import type { Shape } from "./events.ts";
import { openBus, openPorts } from "./storage.ts";
import type { ServiceStorage } from "./storage.ts";

/** Default number of partitions of a topic. */
const PARTITIONS = 6;
const LOGS_PER_PARTITION = 2;
export const LOGS = spreadLogs();
const CLASSES = 20;
const SUBSCRIBERS = 5;
/** One event in so many is of a given class. */
const TAGS = 100;
/** Number of events that the write coalescer puts into a record under load. */
const RECORD_EVENTS = 50;
const APPEND_RECORDS = 200;

/** Returns logs spread evenly over Kafka's partitions, so that these finish at the same time. */
function spreadLogs(): readonly LogKey[] {
  const choose = Partitioners.DefaultPartitioner();
  const broker = { partitionErrorCode: 0, leader: 0, replicas: [], isr: [], offlineReplicas: [] };
  const partitionMetadata = Array.from({ length: PARTITIONS }, (_, partitionId) => ({ ...broker, partitionId }));
  const logs: LogKey[] = [];
  const taken = new Map<number, number>();
  for (let i = 1; logs.length < PARTITIONS * LOGS_PER_PARTITION; i++) {
    const key = i === 1 ? LOG : parseLogKey(`${LOG}-${i}`)!;
    const partition = choose({ topic: "events", partitionMetadata, message: { key, value: null } });
    const count = taken.get(partition) ?? 0;
    if (count === LOGS_PER_PARTITION) continue;
    taken.set(partition, count + 1);
    logs.push(key);
  }
  return logs;
}

/** Events on the bus, and the expected results of the pipeline. */
export type Backlog = {
  readonly events: readonly StoredEvent[];
  readonly alerts: readonly Alert[];
  /** Number of events of {@link LOG}, which are spread evenly. */
  readonly ofFirstLog: number;
};

/** Creates the logs with 20 classes each, and returns five users with alerts of one class each. */
export async function prepareCatalog(storage: ServiceStorage): Promise<readonly UserId[]> {
  await using ports = await openPorts(storage);
  const { catalog } = ports;
  const users: UserId[] = [];
  for (let i = 0; i < SUBSCRIBERS; i++) {
    const account = { email: `subscriber-${i}@example.org`, password: `password of ${i}`, admin: i === 0 };
    users.push((await catalog.createAccount(account)).id);
  }
  for (const key of LOGS) {
    await catalog.createLog({ key, display: key, owner: users[0]!, ...(key === LOG && { apiKey: API_KEY }) });
    for (let i = 0; i < CLASSES; i++) await catalog.createClassFilter(key, classOf(i));
    for (const [i, user] of users.entries()) {
      if (i > 0) await catalog.share(key, `subscriber-${i}@example.org`, "user");
      await catalog.setClassOptions(user, key, classOf(i).key, { alert: true, notify: false, hide: false });
    }
  }
  return users;
}

function classOf(i: number): ClassFilter {
  return {
    key: `class-${i}`,
    display: `Class ${i}`,
    color: "red",
    tag: tagOf(i),
    text: "",
    link: "",
    source: "",
    weight: i,
  };
}

function tagOf(i: number): string {
  return `kind-${i % TAGS}`;
}

const nextId = createIdSource();

export function createBacklog(count: number, users: readonly UserId[], shape: Shape = "plain"): Backlog {
  const events: StoredEvent[] = [];
  const alerts: Alert[] = [];
  let ofFirstLog = 0;
  for (const model of storedEvents(count, shape)) {
    const i = events.length;
    const log = LOGS[Math.floor(i / RECORD_EVENTS) % LOGS.length]!;
    const kind = i % TAGS;
    const tags = [...model.tags, tagOf(kind)];
    const event = { ...model, ...nextId(), log, tags, class: kind < CLASSES ? classOf(kind).key : null };
    events.push(event);
    if (log === LOG) ofFirstLog += 1;
    if (kind < users.length) alerts.push({ user: users[kind]!, event });
  }
  return { events, alerts, ofFirstLog };
}

/**
 * Appends the events to the bus as posting does. The storage must not be open elsewhere. Returns the
 * number of partitions with events.
 */
export async function appendBacklog(storage: ServiceStorage, { events }: Backlog): Promise<number> {
  await using bus = await openBus(storage);
  const before = await bus.lag("events", "pipeline");
  let records: NewRecord[] = [];
  for (let start = 0; start < events.length; start += RECORD_EVENTS) {
    const some = events.slice(start, start + RECORD_EVENTS);
    const { log } = some[0]!;
    records.push({ key: log, value: encodeRecord(log, some.map(encodeLine)) });
    if (records.length < APPEND_RECORDS && start + RECORD_EVENTS < events.length) continue;
    await bus.append("events", records);
    records = [];
  }
  const after = await bus.lag("events", "pipeline");
  return after.filter(({ end }, i) => end > (before[i]?.end ?? 0)).length;
}
