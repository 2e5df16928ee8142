import { LoggiaError } from "../errors.ts";
import type { LogKey, UserId } from "../events/event.ts";
import { quote } from "../events/quote.ts";
import { compareCodePoints, fold } from "../events/text.ts";
import type { Catalog, OwnedQuery, SavedQuery } from "./catalog.ts";
import { checkQueryName, MAX_SAVED_QUERIES } from "./checks.ts";
import { documentId } from "./model.ts";
import type { Entity, SavedQueriesEntity } from "./model.ts";
import type { Snapshot } from "./snapshot.ts";
import type { Writer } from "./writer.ts";

type SavedQueries = Pick<
  Catalog,
  "savedQueries" | "savedQuery" | "saveQuery" | "updateSavedQuery" | "deleteSavedQuery"
>;

export function createSavedQueries(parts: {
  snapshot: Snapshot;
  writer: Writer;
  refresh: () => Promise<void>;
}): SavedQueries {
  const { snapshot, writer, refresh } = parts;

  /** Returns a user's own queries and those shared by members of the log. */
  const visible = (log: LogKey, user: UserId | null): OwnedQuery[] =>
    snapshot.savedQueriesOfLog(log).flatMap((entity) => {
      if (snapshot.roleOf(entity.user, log) === null) return [];
      const shown = entity.user === user ? entity.queries : entity.queries.filter(({ shared }) => shared);
      return shown.map((query) => ({ ...query, owner: entity.user }));
    });

  const requireFreeName = (log: LogKey, user: UserId, name: string): void => {
    const taken = visible(log, null).find((query) => query.owner !== user && isNamed(query, name));
    if (taken === undefined) return;
    throw new LoggiaError("saved_query_exists", `Another user already shares a query ${taken.name} of the log ${log}`);
  };

  const write = (
    log: LogKey,
    user: UserId,
    change: (queries: readonly SavedQuery[]) => readonly SavedQuery[],
  ): Promise<SavedQueriesEntity | null> =>
    writer.write(documentId.savedQueries(user, log), (current): SavedQueriesEntity | null => {
      const queries = change(queriesOf(current));
      return queries.length === 0 ? null : { kind: "saved-queries", log, user, queries };
    });

  return {
    savedQueries: (log, user) => visible(log, user).sort(byName),
    savedQuery(log, user, name) {
      const named = visible(log, user).filter((query) => isNamed(query, name));
      return named.find(({ owner }) => owner === user) ?? named.sort(byAge)[0] ?? null;
    },
    async saveQuery(log, user, given) {
      const saved: SavedQuery = { ...given, name: checkQueryName(given.name), created: Date.now() };
      if (saved.shared) {
        await refresh();
        requireFreeName(log, user, saved.name);
      }
      await write(log, user, (queries) => {
        if (queries.some((query) => isNamed(query, saved.name))) {
          throw ownNameTaken(log, saved.name);
        }
        if (queries.length >= MAX_SAVED_QUERIES) {
          const why = `You have saved ${MAX_SAVED_QUERIES} queries of the log ${log}, the maximum`;
          throw new LoggiaError("conflict", why);
        }
        return [...queries, saved];
      });
      return saved;
    },
    async updateSavedQuery(log, user, name, { name: renamed, ...change }) {
      const newName = renamed === undefined ? null : checkQueryName(renamed);
      if (change.shared) {
        await refresh();
        const own = snapshot.savedQueriesOfUser(user).find((entity) => entity.log === log);
        requireOwn(own?.queries ?? [], log, name);
        requireFreeName(log, user, newName ?? name);
      }
      const entity = await write(log, user, (queries) => {
        const changed = requireOwn(queries, log, name);
        if (newName !== null && queries.some((query) => query !== changed && isNamed(query, newName))) {
          throw ownNameTaken(log, newName);
        }
        const after = { ...changed, ...change, name: newName ?? changed.name };
        return queries.map((query) => (query === changed ? after : query));
      });
      return requireOwn(entity?.queries ?? [], log, newName ?? name);
    },
    async deleteSavedQuery(log, user, name) {
      await write(log, user, (queries) => {
        requireOwn(queries, log, name);
        return queries.filter((query) => !isNamed(query, name));
      });
    },
  };
}

function queriesOf(entity: Entity | null): readonly SavedQuery[] {
  return entity?.kind === "saved-queries" ? entity.queries : [];
}

function isNamed(query: SavedQuery, name: string): boolean {
  return fold(query.name) === fold(name.trim());
}

function requireOwn(queries: readonly SavedQuery[], log: LogKey, name: string): SavedQuery {
  const query = queries.find((query) => isNamed(query, name));
  if (query !== undefined) return query;
  const what = `You have no saved query ${quote(name)} of the log ${log}`;
  throw new LoggiaError("saved_query_not_found", `${what}; only its owner can change a shared one`);
}

function ownNameTaken(log: LogKey, name: string): LoggiaError {
  return new LoggiaError("saved_query_exists", `You already have a saved query ${name} of the log ${log}`);
}

/** Error for a query that the user may not run. Missing and private queries give the same error. */
export function savedQueryNotFound(log: LogKey, name: string): LoggiaError {
  return new LoggiaError(
    "saved_query_not_found",
    `You have no saved query ${quote(name)} of the log ${log}, and no other user shares one of that name`,
  );
}

function byName(a: OwnedQuery, b: OwnedQuery): number {
  return compareCodePoints(fold(a.name), fold(b.name)) || compareCodePoints(a.owner, b.owner);
}

function byAge(a: OwnedQuery, b: OwnedQuery): number {
  return a.created - b.created || compareCodePoints(a.owner, b.owner);
}
