import { StartError } from "../errors.ts";
import { nearest } from "../query/fault.ts";
import type { SettingRow } from "./setting.ts";

/** Variables of other commands, which `start` does not read. */
const CLIENT_VARIABLES: ReadonlySet<string> = new Set(["LOGGIA_KEY", "LOGGIA_AS"]);

/** Most edits between a variable and the setting that it is taken for. */
const MOST_EDITS = 2;

/**
 * Refuses variables that are probably misspelt settings: a misspelt one would silently leave the
 * default in force, such as embedded engines in place of a cluster. All unknown names that begin
 * with `LOGGIA_` are refused; others if they are near a setting that is not set.
 * @throws StartError that names the variable and the settings
 */
export function refuseUnknown(environment: NodeJS.ProcessEnv, settings: readonly SettingRow[]): void {
  const names = settings.flatMap(({ name, secret }) => (secret === true ? [name, `${name}_FILE`] : [name]));
  const listed = names.filter((name) => !settings.some((row) => row.name === name && row.forTests === true));
  const isSet = (name: string): boolean => (environment[name]?.trim() ?? "") !== "";
  const unset = names.filter((name) => !isSet(name) && !isSet(name.replace(/_FILE$/, "")));
  for (const [name, value = ""] of Object.entries(environment)) {
    if (names.includes(name) || CLIENT_VARIABLES.has(name) || isServiceLink(name, value)) continue;
    const setting = name.replace(/_FILE$/, "");
    if (isSet(name) && unset.includes(setting))
      throw new StartError(`${name} is not a setting: ${setting} is not read from a file; set ${setting} itself`);
    const meant = isSet(name) ? nearest(name, unset, MOST_EDITS) : null;
    if (meant === null && !name.startsWith("LOGGIA_")) continue;
    const prefix = `${(meant ?? name).split("_")[0]}_`;
    const allowed = listed.filter((known) => known.startsWith(prefix)).join(", ");
    const remedy = meant === null ? `; allowed are ${allowed}` : `. Did you mean ${meant}? Allowed are ${allowed}`;
    throw new StartError(`${name} is not a setting${remedy}`);
  }
}

/**
 * Whether Kubernetes has set the variable for a Service, such as one named `loggia`, `loggia-post`
 * or `kafka`.
 */
function isServiceLink(name: string, value: string): boolean {
  if (/_SERVICE_HOST$|_SERVICE_PORT(?:_|$)|_PORT_\d+_(?:TCP|UDP|SCTP)_(?:PROTO|PORT|ADDR)$/.test(name)) return true;
  return /_PORT(?:_\d+_(?:TCP|UDP|SCTP))?$/.test(name) && /^(?:tcp|udp|sctp):\/\//.test(value);
}
