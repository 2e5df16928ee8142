import { StartError } from "../errors.ts";
import { readFile } from "./values.ts";

/**
 * A setting with its description, as listed by `make help` and `loggia start --help`. A secret may
 * also be read from the file that `NAME_FILE` names.
 */
export type SettingRow = {
  readonly name: string;
  readonly standard: string;
  readonly help: string;
  readonly secret?: true;
  /** Only tests set it. Help and documentation leave it out. */
  readonly forTests?: true;
};

/** A setting with its reader, which gets the standard value if the variable is not set. */
export type Setting<T> = SettingRow & {
  /** @throws StartError that names the variable, its value and what is allowed */
  readonly read: (name: string, value: string) => T;
};

/** The values of a group of settings. */
export type SettingValues<Group> = {
  readonly [Key in keyof Group]: Group[Key] extends Setting<infer T> ? T : never;
};

/** Reads a group of settings, each by its own reader. */
export function readGroup<const Group extends Readonly<Record<string, Setting<unknown>>>>(
  group: Group,
  environment: NodeJS.ProcessEnv,
): SettingValues<Group> {
  const values = Object.entries(group).map(([key, row]) => [key, row.read(row.name, readVariable(environment, row))]);
  return Object.fromEntries(values) as SettingValues<Group>;
}

/** Returns the value of a setting as text: from the environment or a file, else the standard one. */
export function readVariable(environment: NodeJS.ProcessEnv, setting: SettingRow): string {
  const { name } = setting;
  const value = environment[name]?.trim() ?? "";
  const file = setting.secret === true ? (environment[`${name}_FILE`]?.trim() ?? "") : "";
  if (file === "") return value === "" ? setting.standard : value;
  if (value !== "") throw new StartError(`${name} and ${name}_FILE are both set; set one of them`);
  return readFile(`${name}_FILE`, file).trim();
}
