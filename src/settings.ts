import { CHANNEL_SETTINGS, openChannels } from "../pipelines/notify/channels/list.ts";
import type { OpenChannel } from "../pipelines/notify/channels/open-channel.ts";
import type { AccountLimits } from "./catalog/catalog.ts";
import { StartError } from "./errors.ts";
import type { ProtocolSettings } from "./ingest/kit/endpoint.ts";
import { PROTOCOL_SETTINGS, PROTOCOLS } from "./ingest/protocols/list.ts";
import type { Rates } from "./ratelimit/rate-limiter.ts";
import { ACCOUNT_SETTINGS, RATE_SETTINGS } from "./settings/caller-limits.ts";
import { ENGINE_SETTINGS, type EngineSettings, readEngines } from "./settings/engines.ts";
import { type ListenerSettings, readSockets } from "./settings/listeners.ts";
import { ROLES, SERVICE_SETTINGS } from "./settings/service.ts";
import { readGroup, readVariable, type SettingRow, type SettingValues } from "./settings/setting.ts";
import { refuseUnknown } from "./settings/unknown.ts";
import { invalidSetting, readMatch } from "./settings/values.ts";

/** All settings, in the order of the help. */
export const ALL_SETTINGS: readonly SettingRow[] = [
  SERVICE_SETTINGS,
  CHANNEL_SETTINGS,
  RATE_SETTINGS,
  ACCOUNT_SETTINGS,
  ENGINE_SETTINGS,
  PROTOCOL_SETTINGS,
].flatMap((group) => Object.values(group));
/** The settings that help lists. */
export const LISTED_SETTINGS: readonly SettingRow[] = ALL_SETTINGS.filter(({ forTests }) => forTests !== true);

/** Values of the settings: those of {@link SERVICE_SETTINGS} by their keys, and these. */
export type Settings = SettingValues<typeof SERVICE_SETTINGS> & {
  readonly engines: EngineSettings;
  /** Settings of protocols, apart from their listeners. */
  readonly protocols: ProtocolSettings;
  /** Listeners for protocols other than HTTP. */
  readonly listeners: ListenerSettings;
  /** Channels by which users get notices about events. */
  readonly channels: readonly OpenChannel[];
  readonly rates: Rates;
  readonly accountLimits: AccountLimits;
};

/**
 * Reads the settings from `environment`.
 * @throws StartError that names the variable, its value and what is allowed
 */
export function readSettings(environment: NodeJS.ProcessEnv): Settings {
  refuseUnknown(environment, ALL_SETTINGS);
  const service = readGroup(SERVICE_SETTINGS, environment);
  const engines = readEngines(environment);
  if (engines.kind === "embedded") requireAllRoles(service);
  else refuseSizeOfTopics(service, environment);
  return {
    ...service,
    engines,
    protocols: readProtocolSettings(environment),
    listeners: readListeners(environment),
    channels: openChannels((row) => readVariable(environment, row)),
    rates: readGroup(RATE_SETTINGS, environment),
    accountLimits: readGroup(ACCOUNT_SETTINGS, environment),
  };
}

function requireAllRoles({ roles }: Pick<Settings, "roles">): void {
  if (roles.size === ROLES.length) return;
  throw invalidSetting(
    SERVICE_SETTINGS.roles.name,
    [...roles].join(","),
    "all of post,pipeline,api on embedded engines: their files belong to one process. " +
      "Set KAFKA_BROKERS and ELASTICSEARCH_URL to split the roles",
  );
}

function refuseSizeOfTopics({ busKeep }: Pick<Settings, "busKeep">, environment: NodeJS.ProcessEnv): void {
  if (busKeep.size_bytes === Infinity) return;
  const row = SERVICE_SETTINGS.busKeep;
  throw new StartError(
    `${row.name} is ${JSON.stringify(readVariable(environment, row))}, ` +
      "but Kafka limits the size of topics by its own configuration; " +
      "omit the size, and set retention.bytes of the topics, which applies to each partition",
  );
}

function readProtocolSettings(environment: NodeJS.ProcessEnv): ProtocolSettings {
  const rows = PROTOCOLS.flatMap(({ settings = [] }) => settings);
  return new Map(
    rows.map((row) => [row.name, readMatch(row.name, readVariable(environment, row), row.pattern, row.allowed)]),
  );
}

function readListeners(environment: NodeJS.ProcessEnv): ListenerSettings {
  const listeners = PROTOCOLS.flatMap(({ name, sockets }) => {
    if (sockets === undefined) return [];
    const { setting, syntax } = sockets;
    return [[name, readSockets(setting.name, readVariable(environment, setting), syntax)] as const];
  });
  return Object.fromEntries(listeners);
}
