import { LoggiaError } from "../errors.ts";
import type { LogKey } from "../events/event.ts";
import { parseHookName } from "../events/hook-name.ts";
import { quote } from "../events/quote.ts";
import type { Catalog, Hook, HookSettings, NewHook, ReceivingHook } from "./catalog.ts";
import { checkHook, checkHookName, checkHookSecret, MAX_HOOKS } from "./hook-checks.ts";
import { findLog } from "./log-changes.ts";
import { documentId } from "./model.ts";
import type { Entity, HookEntity, HooksEntity } from "./model.ts";
import { generateHookSecret } from "../auth/secrets.ts";
import type { Snapshot } from "./snapshot.ts";
import type { Writer } from "./writer.ts";

type Hooks = Pick<
  Catalog,
  "hooks" | "receivingHook" | "refreshedHook" | "cachedHook" | "createHook" | "updateHook" | "deleteHook"
>;

export function createHooks(parts: {
  snapshot: Snapshot;
  writer: Writer;
  refresh: () => Promise<void>;
  refreshThrottled: () => Promise<void>;
}): Hooks {
  const { snapshot, writer, refreshThrottled } = parts;

  const write = async (log: LogKey, change: (hooks: readonly HookEntity[]) => readonly HookEntity[]): Promise<void> => {
    await writer.write(documentId.hooks(log), (current): HooksEntity | null => {
      const before = hooksOf(current);
      const hooks = change(before);
      if (hooks === before) return current as HooksEntity | null;
      return hooks.length === 0 ? null : { kind: "hooks", log, hooks };
    });
  };

  const find = (log: LogKey, text: string): ReceivingHook | null => {
    const name = parseHookName(text);
    return snapshot.hooks(log).find((hook) => hook.name === name) ?? null;
  };

  return {
    hooks: (log) => snapshot.hooks(log).map(hookOf),
    cachedHook: find,
    async receivingHook(log, name) {
      const known = find(log, name);
      if (known !== null || parseHookName(name) === null) return known;
      // Another process may have created it a moment ago.
      await refreshThrottled();
      return find(log, name);
    },
    async refreshedHook(log, name) {
      await refreshThrottled();
      return find(log, name);
    },
    async createHook(log, given) {
      const name = checkHookName(given.name);
      const settings = checkHook(name, given);
      const secret = secretOf(settings, given.secret);
      await findLog(parts, log);
      const made: HookEntity = { name, ...settings, ...(secret !== null && { secret }), created: Date.now() };
      await write(log, (hooks) => {
        if (hooks.some((hook) => hook.name === name)) {
          throw new LoggiaError("hook_exists", `The log ${log} already has a hook ${name}`);
        }
        if (hooks.length >= MAX_HOOKS) {
          throw new LoggiaError("conflict", `The log ${log} has ${MAX_HOOKS} hooks, the maximum; remove one first`);
        }
        return [...hooks, made].sort((a, b) => (a.name < b.name ? -1 : 1));
      });
      return shownOnce(made, given.secret ?? undefined);
    },
    async updateHook(log, text, given) {
      const settings = checkHook(parseHookName(text) ?? "", given);
      const generated = generateHookSecret();
      let result: HookEntity | null = null;
      await write(log, (hooks) => {
        const before = requireHook(hooks, log, text);
        const kept = settings.signature === "none" ? undefined : before.secret;
        const secret = secretOf(settings, given.secret === undefined ? kept : given.secret, generated);
        const after = { name: before.name, ...settings, ...(secret !== null && { secret }), created: before.created };
        result = after;
        return hooks.map((hook) => (hook === before ? after : hook));
      });
      const after = result as unknown as HookEntity;
      return shownOnce(after, after.secret === generated ? undefined : after.secret);
    },
    async deleteHook(log, text) {
      await write(log, (hooks) => {
        const gone = requireHook(hooks, log, text);
        return hooks.filter((hook) => hook !== gone);
      });
    },
  };
}

/** Returns the secret for a hook: the given one, a generated one, or null without a signature. */
function secretOf(
  { signature }: HookSettings,
  given: string | null | undefined,
  generated: string = generateHookSecret(),
): string | null {
  if (signature === "none") {
    if (given === undefined) return null;
    throw new LoggiaError(
      "bad_parameter",
      "The field secret has no effect without a signature; give the field signature too",
    );
  }
  return given === undefined || given === null ? generated : checkHookSecret(signature, given);
}

/** Adds the secret to a hook if it was generated. A given secret is not returned. */
function shownOnce(entity: HookEntity, given: string | undefined): NewHook {
  const secret = given === undefined ? (entity.secret ?? null) : null;
  return Object.freeze({ ...hookOf(entity), secret });
}

function hooksOf(entity: Entity | null): readonly HookEntity[] {
  return entity?.kind === "hooks" ? entity.hooks : [];
}

function hookOf({ name, kind, signature, template, created }: HookEntity): Hook {
  return Object.freeze({ name, kind, signature, template, created });
}

function requireHook(hooks: readonly HookEntity[], log: LogKey, text: string): HookEntity {
  const name = parseHookName(text);
  const hook = hooks.find((one) => one.name === name);
  if (hook !== undefined) return hook;
  throw hookNotFound(log, text);
}

export function hookNotFound(log: LogKey, name: string): LoggiaError {
  return new LoggiaError("hook_not_found", `The log ${log} has no hook ${quote(name)}`);
}
