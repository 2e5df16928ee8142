import { LoggiaError } from "../errors.ts";
import type { LogKey } from "../events/event.ts";
import type { Catalog, ClassOptions } from "./catalog.ts";
import { checkClassFilter, MAX_CLASS_FILTERS, parseClassKey } from "./checks.ts";
import { findLog } from "./log-changes.ts";
import { documentId } from "./model.ts";
import type { ClassEntity, Entity, OptionsEntity } from "./model.ts";
import { quotaAddition } from "./quotas.ts";
import type { Quotas } from "./quotas.ts";
import { generateId } from "../auth/secrets.ts";
import type { Snapshot } from "./snapshot.ts";
import type { Writer } from "./writer.ts";

type ClassFilters = Pick<
  Catalog,
  | "classFilters"
  | "createClassFilter"
  | "updateClassFilter"
  | "deleteClassFilter"
  | "classOptions"
  | "setClassOptions"
  | "subscribers"
>;

export function createClassFilters(parts: {
  snapshot: Snapshot;
  writer: Writer;
  quotas: Quotas;
  refresh: () => Promise<void>;
}): ClassFilters {
  const { snapshot, writer, quotas, refresh } = parts;
  // Memory first. If it is missing, another process may have created it a moment ago.
  const find = async (id: string): Promise<Entity | null> => {
    const cached = snapshot.entry(id)?.entity;
    if (cached) return cached;
    await refresh();
    return snapshot.entry(id)?.entity ?? null;
  };
  return {
    classFilters: (log) => snapshot.classFilters(log),
    async createClassFilter(log, given) {
      const filter = checkClassFilter(given);
      const { owner } = await findLog(parts, log);
      const birth = generateId();
      const make = (current: Entity | null): ClassEntity => {
        if (current !== null) {
          throw new LoggiaError("class_filter_exists", `The log ${log} already has a class filter ${filter.key}`);
        }
        if (snapshot.classFilterCount(log) >= MAX_CLASS_FILTERS) {
          throw new LoggiaError("conflict", `The log ${log} has ${MAX_CLASS_FILTERS} class filters, the maximum`);
        }
        return { kind: "class", log, birth, filter };
      };
      const { filter: created } = await quotas.add(owner, [quotaAddition.classFilter(log, filter.key)], () =>
        writer.write(documentId.class(log, filter.key), make),
      );
      return created;
    },
    async updateClassFilter(log, key, given) {
      const name = requireClassKey(log, key);
      const filter = checkClassFilter({ ...given, key: name });
      const updated = await writer.write(documentId.class(log, name), (current) => ({
        ...expectClass(current, log, key),
        filter,
      }));
      return updated.filter;
    },
    async deleteClassFilter(log, key) {
      const name = requireClassKey(log, key);
      await writer.write(documentId.class(log, name), (current) => {
        expectClass(current, log, key);
        return null;
      });
      // The options already have no effect, as they belong to the removed filter.
      for (const { user, birth } of snapshot.optionsOfClass(log, name)) {
        await writer.write(documentId.options(user, log, name), (current) =>
          isOptions(current, birth) ? null : current,
        );
      }
    },
    classOptions: (user, log, classKey) => snapshot.options(user, log, classKey.toLowerCase()),
    async setClassOptions(user, log, classKey, given) {
      const name = requireClassKey(log, classKey);
      const { birth } = expectClass(await find(documentId.class(log, name)), log, classKey);
      const options = checkOptions(given);
      const none = !options.alert && !options.notify && !options.hide;
      await writer.write(documentId.options(user, log, name), (): OptionsEntity | null =>
        none ? null : { kind: "options", user, log, class: name, birth, options },
      );
      return options;
    },
    subscribers: (log, classKey, option) => snapshot.subscribers(log, classKey, option),
  };
}

function checkOptions(given: ClassOptions): ClassOptions {
  const { alert, notify, hide } = given;
  for (const [field, value] of Object.entries({ alert, notify, hide })) {
    if (typeof value !== "boolean") throw new LoggiaError("bad_parameter", `The field ${field} must be true or false`);
  }
  return Object.freeze({ alert, notify, hide });
}

function isOptions(current: Entity | null, birth: string): boolean {
  return current?.kind === "options" && current.birth === birth;
}

function requireClassKey(log: LogKey, text: string): string {
  const key = parseClassKey(text);
  if (key === null) throw notFound(log, text);
  return key;
}

function expectClass(current: Entity | null, log: LogKey, key: string): ClassEntity {
  if (current?.kind === "class") return current;
  throw notFound(log, key);
}

function notFound(log: LogKey, key: string): LoggiaError {
  return new LoggiaError("class_filter_not_found", `The log ${log} has no class filter ${key}`);
}
