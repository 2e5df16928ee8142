import { Reader } from "maxmind";
import type { CityResponse } from "maxmind";
import { readFile, stat } from "node:fs/promises";
import { isIP, isIPv4 } from "node:net";
import type { Logger } from "pino";

import { StartError } from "../../src/errors.ts";
import type { Locate } from "./enrich.ts";

/** An open GeoIP database. It follows its file: a replacement is loaded within seconds. */
export type Geoip = Disposable & { readonly locate: Locate };

export type GeoipOptions = {
  /** A database in MaxMind's format (`.mmdb`) with locations, such as GeoLite2 City. */
  readonly file: string;
  /** Name of the setting, with which messages about the file begin. */
  readonly setting: string;
  readonly log: Logger;
  /** How often the file is checked. Default: 5 s. */
  readonly watch_ms?: number;
};

const WATCH_MS = 5_000;

/** Opens a database. @throws StartError with setting and file if it can't be read or is invalid */
export async function openGeoip({ file, setting, log, watch_ms = WATCH_MS }: GeoipOptions): Promise<Geoip> {
  let database: Database;
  let seen: string;
  try {
    // Read first, so that any later replacement has another version.
    seen = await versionOf(file);
    database = await readDatabase(file);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(`${setting} is ${JSON.stringify(file)}, which is not a GeoIP database: ${reason}`, {
      cause: error,
    });
  }
  log.info({ file, ...aboutOf(database) }, "geoip: opened the database");

  async function reload(): Promise<void> {
    try {
      const version = await versionOf(file);
      if (version === seen) return;
      seen = version;
      database = await readDatabase(file);
      log.info({ file, ...aboutOf(database) }, "geoip: loaded the new database");
    } catch (error) {
      // During a replacement the file may be missing or incomplete. The database in memory stays
      // until the new one is complete.
      log.error({ err: error, file }, "geoip: cannot read the new database, keeping the old one");
    }
  }
  const timer = setInterval(() => void reload(), watch_ms).unref();
  return { locate: (ip) => find(database, ip), [Symbol.dispose]: () => clearInterval(timer) };
}

/** Returns a string that changes when the file is written or replaced. */
async function versionOf(file: string): Promise<string> {
  const { ino, size, mtimeMs } = await stat(file);
  return `${ino} ${size} ${mtimeMs}`;
}

type Database = Reader<CityResponse>;

async function readDatabase(file: string): Promise<Database> {
  const bytes = await readFile(file);
  if (!bytes.subarray(-METADATA_MAX_BYTES).includes(METADATA_MARK)) throw new Error("it is not in MaxMind's format");
  const database = new Reader<CityResponse>(bytes);
  const { binaryFormatMajorVersion: version, searchTreeSize, databaseType } = database.metadata;
  if (version !== 2) throw new Error(`its format is version ${version}, only version 2 is supported`);
  if (searchTreeSize > bytes.length) throw new Error("it is truncated");
  if (WITHOUT_PLACES.test(databaseType)) throw new Error(`it is of type ${databaseType}, which has no coordinates`);
  return database;
}

/** Marker before the metadata, which is at the end of every database. */
const METADATA_MARK = Buffer.from("\xab\xcd\xefMaxMind.com", "latin1");
const METADATA_MAX_BYTES = 128 * 1024;
/** Types of databases that would open but locate nothing. */
const WITHOUT_PLACES = /Country|ASN|ISP|Domain|Anonymous|Connection-Type/i;

function aboutOf({ metadata }: Database): object {
  return { type: metadata.databaseType, built: metadata.buildEpoch };
}

/** An IPv4 address in IPv6 notation, which is looked up as IPv4. */
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

function find(database: Database, address: string): ReturnType<Locate> {
  const ip = MAPPED.exec(address)?.[1] ?? address;
  if (isIP(ip) === 0 || (database.metadata.ipVersion === 4 && !isIPv4(ip))) return null;
  const { latitude: lat, longitude: lon } = database.get(ip)?.location ?? {};
  const isPlace = typeof lat === "number" && typeof lon === "number" && Math.abs(lat) <= 90 && Math.abs(lon) <= 180;
  return isPlace ? { lat, lon } : null;
}
