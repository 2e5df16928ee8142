import { type Command, Option } from "commander";

import { addressOption } from "./addresses.ts";
import type { ServiceOptions } from "./call.ts";
import * as manage from "./manage.ts";
import { collect, readFields, readLogChange, readShare, wholeFrom } from "./option-values.ts";
import { passwordFromStdin, readPassword } from "./password.ts";
import { CommandError } from "./request.ts";
import { printableLines } from "./terminal.ts";
import * as hooks from "./hooks.ts";
import * as operate from "./operate.ts";
import * as queries from "./queries.ts";
import { applyClasses } from "./reclassify.ts";

/** Values from the command line: address and account of the service, and the command's options. */
type CommandOptions = ServiceOptions & { readonly json?: true; readonly log: string } & Readonly<
    Record<string, string | undefined>
  >;

/** Adds the commands for querying: LQL queries and saved queries. */
export function addQueryCommands(program: Command): void {
  const inZone = (command: Command): Command =>
    inLog(command).option("--tz <zone>", "time zone: hours from UTC, or a name such as Europe/Berlin");
  apiAction(
    inZone(
      program
        .command("query [lql]")
        .description("run a query, such as 'GET events GROUPBY source' (talks to the running service)"),
    ).option("--saved <name>", "run the saved query of this name"),
    (given, text) =>
      queries.runQuery(given, {
        log: given.log,
        text: text === "" ? undefined : text,
        saved: given["saved"],
        tz: given["tz"],
      }),
  );
  inLog(program.command("tail [lql]").description("print events as they are stored (talks to the running service)"))
    .addOption(addressOption("LOGGIA_API", "address of the API"))
    .addOption(accountOption())
    .addOption(
      new Option("--last <n>", "how many stored events to print first").default(10).argParser(wholeFrom(0, 500)),
    )
    .option("--json", "print the service's JSON, one event per line")
    .action(async (query: string | undefined, given: ServiceOptions & { log: string; last: number; json?: true }) => {
      const stop = new AbortController();
      process.once("SIGINT", () => stop.abort());
      // Loaded on demand, as other commands do not need it.
      const { tail } = await import("./tail.ts");
      const print = (line: string): void => console.log(line);
      await tail({ ...given, query, json: given.json === true }, print, stop.signal);
    });
  const saved = program.command("queries").description("saved queries of a log (talks to the running service)");
  apiAction(inLog(saved.command("list").description("list your own queries and those shared by others")), (given) =>
    queries.listSaved(given, given.log),
  );
  apiAction(
    inZone(saved.command("save <name> <lql>").description("save a query under a name")).option(
      "--share",
      "share it with everyone who may read the log",
    ),
    (given, name, query) =>
      queries.save(given, given.log, { name, query, tz: given["tz"] ?? "", shared: "share" in given }),
  );
  apiAction(inLog(saved.command("remove <name>").description("remove one of your saved queries")), (given, name) =>
    queries.removeSaved(given, given.log, name),
  );
}

/** Adds the commands for the management API of the running service, grouped by kind of record. */
export function addManagementCommands(program: Command): void {
  const group = (name: string, what: string): Command =>
    program.command(name).description(`${what} (talks to the running service)`);
  addUserCommands(group("user", "accounts"));
  addLogCommands(group("log", "logs and their shares"));
  addKeyCommands(group("key", "API keys of a log"));
  addHookCommands(group("hook", "hooks of a log, to which other services post in their own formats"));
  addClassCommands(group("class", "class filters of a log"));
  for (const option of manage.OPTIONS)
    addOptionCommands(group(option, `your own ${OPTION_PHRASE[option]} a class`), option);
  apiAction(
    inLog(group("options", "your own options for a class").command("show <class>").description("show which are on")),
    (given, key) => manage.showOptions(given, given.log, key),
  );
}

/** Adds the commands that act on the machine itself, with the service's settings but no API. */
export function addMachineCommands(program: Command): void {
  const admin = program
    .command("admin")
    .description(
      "commands that need no account and no API (run on the machine itself, with the settings of the service)",
    );
  admin
    .command("reset [email]")
    .description(
      "set a forgotten password, by default of the only service admin, whether or not the service runs; " +
        "without any service admin, the account becomes one. The password is generated and shown if not given",
    )
    .addOption(passwordFromStdin())
    .action(async (email: string | undefined, { passwordStdin }: { passwordStdin?: true }) => {
      const password = passwordStdin === true ? await readPassword(process.stdin) : undefined;
      // Loaded on demand, as it needs the clients of the engines.
      const text = await (await import("./admin.ts")).reset({ email, password }, process.env);
      console.log(printableLines(text));
    });
  admin
    .command("accept-hold <name>")
    .description("accept a hold of all running services on these engines, as holds accept does for one service")
    .action(async (name: string) => {
      console.log(printableLines(await (await import("./admin.ts")).acceptHold(name, process.env)));
    });
  program
    .command("restore <folder>")
    .description("restore a backup into LOGGIA_DATA, an empty folder that no service uses")
    .action(async (folder: string) => {
      console.log(printableLines(await operate.restoreBackup(folder, process.env)));
    });
}

/** Adds the commands for operators: dead letters, replays and backups of the running service. */
export function addOperationCommands(program: Command): void {
  const letters = program
    .command("deadletters")
    .description("records that the pipeline could not process (talks to the running service)");
  apiAction(
    letters
      .command("list")
      .description("list the open dead letters")
      .option("--all", "also list those that were redriven")
      .option("--after <id>", "list those after this one")
      .option("--limit <n>", "how many to list", "100"),
    (given) => operate.listDeadLetters(given),
  );
  apiAction(
    letters.command("redrive <id...>").description("send dead letters through the pipeline again; all: every open one"),
    (given, ...words) =>
      operate.redriveDeadLetters(
        given,
        words.filter((word) => word !== ""),
      ),
  );
  const holds = program
    .command("holds")
    .description("holds of the service, which wait for a decision (talks to the running service)");
  apiAction(holds.command("list").description("list the holds, with what to do"), (given) => operate.listHolds(given));
  apiAction(holds.command("accept <name>").description("accept a hold, so that the service continues"), (given, name) =>
    operate.acceptHold(given, name),
  );
  apiAction(
    program
      .command("clock")
      .description("the clock of the service's machine (talks to the running service)")
      .command("accept")
      .description("confirm that the clock is right although the service does not trust it"),
    (given) => operate.acceptHold(given, "clock"),
  );
  apiAction(
    program
      .command("replay <from>")
      .description(
        "rebuild the store from the bus, read from its start or a date such as 2026-11-21, " +
          "and from the old store, then switch to it; " +
          "embedded: add what is missing (talks to the running service)",
      )
      .option(
        "--into <store>",
        "old: add what is missing to the existing store; new: build a new store (default on a cluster)",
      ),
    (given, from) => operate.replay(given, from, process.stderr),
  );
  apiAction(
    program
      .command("backup <folder>")
      .description(
        "copy the embedded engines' files to a folder while the service runs (talks to the running service)",
      ),
    (given, folder) => operate.backup(given, folder, process.stderr),
  );
}

const OPTION_PHRASE = { alert: "alerts for", notify: "mail for", hide: "hiding of" } as const satisfies Record<
  manage.Option,
  string
>;

function addUserCommands(user: Command): void {
  apiAction(
    user
      .command("add <email>")
      .description("add an account")
      .option("--password <password>", "its password; generated and shown if not given")
      .addOption(passwordFromStdin())
      .option("--admin", "make it a service admin, who may manage accounts")
      .option("--share <log[:role]>", "share a log with it (repeatable)", collect, []),
    (given, email) => {
      const shares = (given as unknown as { share: string[] }).share.map(readShare);
      return manage.addUser(
        given,
        { email: email ?? "", password: given["password"], admin: "admin" in given },
        shares,
      );
    },
  );
  apiAction(user.command("list").description("list the accounts"), (given) => manage.listUsers(given));
  apiAction(
    user
      .command("password <email>")
      .description("set the password of an account")
      .option("--password <password>", "the new password; generated and shown if not given")
      .addOption(passwordFromStdin()),
    (given, email) => manage.setPassword(given, email, given["password"]),
  );
  apiAction(user.command("remove <email>").description("remove an account"), (given, email) =>
    manage.removeUser(given, email),
  );
}

function addLogCommands(log: Command): void {
  apiAction(
    log.command("add <key>").description("create a log").option("--display <text>", "its display name"),
    (given, key) => manage.addLog(given, key, given["display"] ?? key),
  );
  apiAction(log.command("list").description("list the logs that are shared with the account"), (given) =>
    manage.listLogs(given),
  );
  apiAction(log.command("show <key>").description("show a log and its plan"), (given, key) =>
    manage.showLog(given, key),
  );
  apiAction(
    log
      .command("set <key>")
      .description("change a log")
      .option("--display <text>", "its display name")
      .option("--retention-days <n>", "how long its events are kept, in whole days; never: for ever"),
    (given, key) => manage.setLog(given, key, readLogChange(given)),
  );
  apiAction(
    log
      .command("share <key> <email>")
      .description("share a log with a user")
      .addOption(new Option("--role <role>").choices(["user", "admin"]).default("user")),
    (given, key, email) => manage.shareLog(given, key, email, given["role"] ?? "user"),
  );
  apiAction(log.command("unshare <key> <email>").description("remove a share"), (given, key, email) =>
    manage.unshareLog(given, key, email),
  );
  apiAction(log.command("shares <key>").description("list the shares of a log"), (given, key) =>
    manage.listShares(given, key),
  );
  apiAction(
    log
      .command("users <key>")
      .description("list the users that the producer's application has reported")
      .option("--page <n>", "which page of 100 users", "1"),
    (given, key) => manage.listTracked(given, key, wholeFrom(1, 2_000_000)(given["page"] ?? "1")),
  );
}

function addKeyCommands(key: Command): void {
  apiAction(
    inLog(key.command("add").description("create an API key; its secret is shown once")).addOption(
      new Option("--scope <scope>").choices(["read-write", "read-only", "write-only"]).default("read-write"),
    ),
    (given) => manage.addKey(given, given.log, given["scope"] ?? "read-write"),
  );
  apiAction(inLog(key.command("list").description("list the API keys of a log")), (given) =>
    manage.listKeys(given, given.log),
  );
  for (const [word, what, disabled] of [
    ["disable", "disable an API key", true],
    ["enable", "enable an API key again", false],
  ] as const) {
    apiAction(inLog(key.command(`${word} <id>`).description(what)), (given, id) =>
      manage.disableKey(given, given.log, id, disabled),
    );
  }
  apiAction(inLog(key.command("remove <id>").description("remove an API key")), (given, id) =>
    manage.removeKey(given, given.log, id),
  );
}

function addHookCommands(hook: Command): void {
  const withSettings = (command: Command, withoutSecret: string): Command =>
    inLog(command)
      .addOption(
        new Option("--kind <kind>", "service that posts (default: by the name, otherwise json)").choices(hooks.KINDS),
      )
      .addOption(new Option("--signature <signature>", "how requests are signed").choices(hooks.SIGNATURES))
      .option("--secret <secret>", `secret that requests are signed with; ${withoutSecret}`)
      .option("--secret-stdin", "read the secret from standard input, so that no list of processes shows it")
      .option("--template <json>", "how a body becomes events: a template, or @file; none: the default of the kind");
  apiAction(
    withSettings(
      hook.command("add <name>").description("create a hook; a generated secret is shown once"),
      "generated and shown if not given",
    ),
    async (given, name) => await hooks.addHook(given, given.log, name, await hooks.readSettings(given)),
  );
  apiAction(
    withSettings(
      hook.command("change <name>").description("change the given settings and keep the others"),
      "kept if not given",
    ).option("--new-secret", "generate a new secret and show it once"),
    async (given, name) => await hooks.changeHook(given, given.log, name, await hooks.readSettings(given)),
  );
  apiAction(inLog(hook.command("list").description("list the hooks of a log")), (given) =>
    hooks.listHooks(given, given.log),
  );
  apiAction(inLog(hook.command("remove <name>").description("remove a hook")), (given, name) =>
    hooks.removeHook(given, given.log, name),
  );
}

function addClassCommands(classes: Command): void {
  const withFields = (command: Command): Command =>
    inLog(command)
      .option("--display <text>", "its display name")
      .option("--color <color>", "its color, as in CSS")
      .option("--tag <tag>", "condition: one of the event's tags")
      .option("--text <text>", "condition: part of the event's text")
      .option("--link <text>", "condition: part of the event's link")
      .option("--source <source>", "condition: the event's source")
      .option("--weight <n>", "of the matching classes, the one with the highest weight wins");
  apiAction(
    withFields(classes.command("add <key>").description("add a class, of events that meet every given condition")),
    (given, key) => manage.addClass(given, given.log, key, readFields(given)),
  );
  apiAction(
    withFields(classes.command("change <key>").description("change the given fields and keep the others")),
    (given, key) => manage.changeClass(given, given.log, key, readFields(given)),
  );
  apiAction(inLog(classes.command("list").description("list the classes of a log")), (given) =>
    manage.listClasses(given, given.log),
  );
  apiAction(
    inLog(classes.command("apply").description("reclassify stored events by the current filters"))
      .option("--from <time>", "only events created from this time on: ISO 8601, or milliseconds since 1970")
      .option("--no-wait", "do not wait for the end"),
    ({ wait, ...given }) => applyClasses({ ...given, wait: (wait as unknown) !== false }, given.log, process.stderr),
  );
  apiAction(inLog(classes.command("remove <key>").description("remove a class")), (given, key) =>
    manage.removeClass(given, given.log, key),
  );
}

function addOptionCommands(group: Command, option: manage.Option): void {
  for (const [word, on] of [
    ["on", true],
    ["off", false],
  ] as const) {
    apiAction(
      inLog(group.command(`${word} <class>`).description(`turn ${OPTION_PHRASE[option]} a class ${word}`)),
      (given, key) => manage.setOption(given, given.log, key, option, on),
    );
  }
}

function accountOption(): Option {
  return new Option("--as <email:password>", "account to act as").env("LOGGIA_AS").makeOptionMandatory();
}

function inLog(command: Command): Command {
  return command.requiredOption("--log <key>", "the log");
}

/**
 * Adds the address and account options to a command, and prints the result of its action. All
 * arguments of a command are required.
 */
function apiAction(
  command: Command,
  action: (given: CommandOptions, ...words: [string, string, ...string[]]) => Promise<manage.CommandOutput>,
): void {
  command
    .addOption(addressOption("LOGGIA_API", "address of the API"))
    .addOption(accountOption())
    .option("--json", "print the service's JSON")
    .action(async () => {
      const given = await withPassword(command.opts<CommandOptions>());
      const [first = "", second = "", ...more] = command.args;
      const answer = await action(given, first, second, ...more);
      // In JSON, the escapes of `printableLines` are valid JSON escapes of the same value.
      const text = printableLines(given.json === true ? JSON.stringify(answer.value, null, 2) : answer.text);
      console.log(given.json === true ? text : painted(text, answer.paint));
    });
}

function painted(text: string, paint: manage.CommandOutput["paint"]): string {
  if (paint === undefined || !process.stdout.isTTY || !process.stdout.hasColors()) return text;
  return text.split("\n").map(paint).join("\n");
}

async function withPassword(given: CommandOptions): Promise<CommandOptions> {
  if (given["passwordStdin"] === undefined) return given;
  if (given["password"] !== undefined) throw new CommandError("Give only one of --password and --password-stdin");
  return Object.assign({}, given, { password: await readPassword(process.stdin) });
}
