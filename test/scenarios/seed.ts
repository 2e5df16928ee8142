import { encodeAttributes, flatten } from "../../src/events/attributes.ts";
import { parseLogKey } from "../../src/events/event.ts";
import type { LogKey, StoredEvent, UserId } from "../../src/events/event.ts";
import { firstIdAt } from "../../src/events/id.ts";
import type { EventId } from "../../src/events/id.ts";
import { textPattern } from "../../src/events/pattern.ts";
import { hashText } from "../../src/events/hash.ts";
import { createSerialQueue } from "../../src/scheduling/serial-queue.ts";
import { uniqueName } from "../support/temporary.ts";
import type { Service } from "./engine.ts";
import { fill } from "./names.ts";
import type { Names } from "./names.ts";
import type { Scenario, SeedEvent } from "./scenario.ts";
import { writeAlerts, writeEvents } from "../support/write-events.ts";

/** All scenarios start at once, and only so many passwords may wait for their hash. */
const inTurn = createSerialQueue();

/** The password of all accounts in scenarios. */
export const PASSWORD = "correct horse battery staple";

/**
 * Creates the initial records of a scenario, under keys and e-mail addresses that no other run
 * uses. Names: `${ann}` an e-mail address, `${ann.id}`, `${shop}` a log key, `${shop.name of a
 * key}` an API key, `${first}` an event's id, `${first.ms}` its time.
 */
export async function seed(service: Service, scenario: Scenario): Promise<Names> {
  const names: Names = new Map();
  const users = await seedAccounts(service, scenario, names);
  for (const [name, log] of Object.entries(scenario.logs)) {
    const key = parseLogKey(uniqueName(name)) as LogKey;
    names.set(name, key);
    await service.catalog.createLog({ key, display: log.display, owner: need(users, log.admin) });
    for (const user of log.users) await service.catalog.share(key, need(names, user), "user");
    for (const filter of log.classFilters) await service.catalog.createClassFilter(key, filter);
    for (const [keyName, scope] of Object.entries(log.apiKeys)) {
      const { secret, id } = await service.catalog.createApiKey(key, scope);
      names.set(`${name}.${keyName}`, secret).set(`${name}.${keyName}.id`, id);
    }
  }
  await seedEvents(service, scenario, names, users);
  await service.settle();
  return names;
}

async function seedAccounts({ catalog }: Service, scenario: Scenario, names: Names): Promise<Map<string, UserId>> {
  const users = new Map<string, UserId>();
  for (const name of [...scenario.accounts, ...scenario.serviceAdmins]) {
    const email = `${uniqueName(name)}@example.org`;
    const admin = scenario.serviceAdmins.includes(name);
    const { id } = await inTurn(() => catalog.createAccount({ email, password: PASSWORD, admin }));
    users.set(name, id);
    names.set(name, email).set(`${name}.id`, id);
  }
  return users;
}

async function seedEvents(
  { store }: Service,
  scenario: Scenario,
  names: Names,
  users: Map<string, UserId>,
): Promise<void> {
  const events = scenario.events.map((event, index) => {
    const seeded = fill(event, names) as SeedEvent;
    return { seeded, stored: storedEvent(seeded, index, names) };
  });
  const outcomes = await writeEvents(
    store,
    events.map(({ stored }) => stored),
  );
  for (const { seeded, stored } of events) {
    names.set(seeded.name, stored.id).set(`${seeded.name}.ms`, String(stored.created));
    const alerts = seeded.alerted.map((name) => ({ user: need(users, name), event: stored }));
    if (alerts.length > 0) outcomes.push(...(await writeAlerts(store, alerts)));
    for (const name of seeded.bookmarkedBy) await store.addBookmark(need(users, name), stored.log, stored.id);
  }
  const failed = outcomes.find((outcome) => outcome.kind !== "done");
  if (failed !== undefined) throw new Error(`an event could not be seeded: ${failed.reason}`);
}

function storedEvent(event: SeedEvent, index: number, names: Names): StoredEvent {
  const created = event.created === "now" ? Date.now() : Date.parse(event.created);
  if (!Number.isFinite(created)) throw new Error(`${event.created} is no time`);
  const log = need(names, event.log) as LogKey;
  // The end of the log's key is random and in hex digits.
  const id = (firstIdAt(created).slice(0, 11) + index.toString(16).padStart(5, "0") + log.slice(-8)) as EventId;
  const { text, link, tags, source, user, value, geo, data, class: classKey } = event;
  const attributes = event.attributes === null ? null : encodeAttributes(flatten(event.attributes).attributes);
  const made = { class: classKey, hash: hashText(text), pattern: textPattern(text) };
  return { id, log, created, text, link, tags, source, user, value, geo, data, attributes, ...made };
}

function need<T>(map: ReadonlyMap<string, T>, name: string): T {
  const value = map.get(name);
  if (value === undefined) throw new Error(`nothing here is named ${name}`);
  return value;
}
