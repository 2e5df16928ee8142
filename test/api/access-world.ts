import type { Account } from "../../src/auth/principals.ts";
import { parseLogKey } from "../../src/events/event.ts";
import type { LogKey, StoredEvent, UserId } from "../../src/events/event.ts";
import { createIdSource } from "../../src/events/id.ts";
import { textPattern } from "../../src/events/pattern.ts";
import type { Service } from "../support/service.ts";
import { uniqueName } from "../support/temporary.ts";
import { writeAlerts, writeEvents } from "../support/write-events.ts";

/** Callers of every kind, and the records that their calls need. */
export type World = {
  readonly apiUrl: string;
  readonly postUrl: string;
  readonly callers: Readonly<Record<string, { readonly authorization?: string; readonly apikey?: string }>>;
  /**
   * Signs in as a caller with an account.
   * @returns the session cookie
   */
  signIn(caller: string): Promise<string>;
  /**
   * Returns values for the parameters of a route's path: existing records, new ones if the call
   * removes them.
   */
  recordsFor(method: string, route: string): Promise<Readonly<Record<string, string>>>;
};

const PASSWORD = "correct horse";

export async function createWorld({ ports: { catalog, store }, apiUrl, postUrl }: Service): Promise<World> {
  const account = (name: string, admin = false) =>
    catalog.createAccount({ email: `${uniqueName(name)}@example.org`, password: PASSWORD, admin });
  const [foreign, user, admin, root] = [
    await account("foreign"),
    await account("user"),
    await account("admin"),
    await account("root", true),
  ];
  const log = parseLogKey(uniqueName("log")) as LogKey;
  const other = parseLogKey(uniqueName("other")) as LogKey;
  await catalog.createLog({ key: log, display: "A log", owner: admin.id });
  await catalog.share(log, user.email, "user");
  const { apiKey: otherKey } = await catalog.createLog({ key: other, display: "Another", owner: foreign.id });
  const reader = await catalog.createApiKey(log, "read-only");
  const writer = await catalog.createApiKey(log, "write-only");
  const disabled = await catalog.createApiKey(log, "read-write");
  await catalog.setApiKeyDisabled(log, disabled.id, true);
  const newClass = async () => {
    const filter = { display: "", color: "red", tag: "a", text: "", link: "", source: "", weight: 0 };
    return (await catalog.createClassFilter(log, { ...filter, key: uniqueName("class") })).key;
  };

  const newQuery = async () => {
    const query = { name: uniqueName("query"), query: "GET events", tz: "", shared: true };
    return (await catalog.saveQuery(log, admin.id, query)).name;
  };

  const newHook = async () => (await catalog.createHook(log, { name: uniqueName("hook") })).name;

  const newSession = (person: Account) =>
    catalog.createSession({ account: person, password: catalog.passwordMark(person.id)!, address: "", agent: "" });

  const nextId = createIdSource();
  /** Returns an event that every account has bookmarked and was alerted of. */
  const newEvent = async (): Promise<string> => {
    const { id, created } = nextId();
    const absent = { link: "", tags: [], source: "", user: "", value: null, geo: null, class: null, attributes: null };
    const made = { pattern: textPattern("one") };
    const event: StoredEvent = { id, created, log, text: "one", data: "more", ...made, ...absent };
    const users: UserId[] = [foreign, user, admin, root].map((person) => person.id);
    const outcomes = [
      ...(await writeEvents(store, [event])),
      ...(await writeAlerts(
        store,
        users.map((person) => ({ user: person, event })),
      )),
    ];
    for (const person of users) await store.addBookmark(person, log, id);
    if (outcomes.some(({ kind }) => kind !== "done")) throw new Error("the event could not be written");
    return id;
  };
  const kept = { event: await newEvent(), key: await newClass(), query: await newQuery(), hook: await newHook() };

  return {
    apiUrl,
    postUrl,
    callers: {
      nobody: {},
      wrong: { authorization: basic(admin.email, "wrong password") },
      foreign: { authorization: basic(foreign.email) },
      user: { authorization: basic(user.email) },
      admin: { authorization: basic(admin.email) },
      root: { authorization: basic(root.email) },
      reader: { apikey: reader.secret },
      writer: { apikey: writer.secret },
      disabled: { apikey: disabled.secret },
      other: { apikey: otherKey.secret },
    },
    async signIn(caller) {
      const person = { foreign, user, admin, root }[caller]!;
      return `loggia=${(await newSession(person)).secret}`;
    },
    async recordsFor(method, route) {
      const changes = method !== "GET";
      const records: Record<string, string> = { log, email: user.email, name: "clock" };
      if (route.includes("sessions/:id")) records["id"] = (await newSession(user)).session.id;
      else if (route.includes("apiKeys/:id")) records["id"] = (await catalog.createApiKey(log, "read-only")).id;
      else if (route.includes(":id") || route.endsWith("/:log/bookmarks")) {
        // A previous caller may have deleted all of their alerts.
        records["id"] = changes || route.includes("/alerts/") ? await newEvent() : kept.event;
      }
      if (route.includes("queries/:name")) records["name"] = changes ? await newQuery() : kept.query;
      if (route.includes("hooks/:name")) records["name"] = changes ? await newHook() : kept.hook;
      if (route.includes(":key")) records["key"] = changes ? await newClass() : kept.key;
      if (route.includes(":email") && (method === "DELETE" || route.includes("shares")) && changes) {
        const { email } = await account("passing");
        if (method === "DELETE" && route.includes("shares")) await catalog.share(log, email, "user");
        records["email"] = email;
      }
      return records;
    },
  };
}

function basic(email: string, password = PASSWORD): string {
  return `Basic ${Buffer.from(`${email}:${password}`).toString("base64")}`;
}
