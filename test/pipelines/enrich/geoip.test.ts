import test from "ava";
import type { ExecutionContext } from "ava";
import { existsSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";

import { openGeoip } from "../../../pipelines/enrich/geoip.ts";
import { StartError } from "../../../src/errors.ts";
import { mmdb } from "../../support/mmdb.ts";
import type { MmdbOptions } from "../../support/mmdb.ts";
import { KINDS } from "../../support/engine-kinds.ts";
import { environmentOf, get, LOG, post, startService } from "../../support/service.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";

const SILENT = pino({ level: "silent" });
const LANCASTER = { latitude: 40.1203, longitude: -76.2944 };
const SYDNEY = { latitude: -33.8688, longitude: 151.2093 };
const at = (location: object) => ({
  location: { ...location } as Record<string, number>,
  city: { names: { en: "…" } },
});

const NETWORKS = {
  "203.0.113.0/25": at(LANCASTER),
  "198.51.100.7/32": at(SYDNEY),
  "192.0.2.0/24": { country: { iso_code: "NZ" } },
  "100.64.0.0/10": at({ latitude: 91, longitude: 0 }),
};

function write(t: ExecutionContext, bytes: Buffer | string): string {
  const file = join(temporaryFolder(t), "cities.mmdb");
  writeFileSync(file, bytes);
  return file;
}

async function open(t: ExecutionContext, file: string) {
  const geoip = await openGeoip({ file, setting: "LOGGIA_GEOIP", log: SILENT, watch_ms: 20 });
  t.teardown(() => geoip[Symbol.dispose]());
  return geoip.locate;
}

const IN_LANCASTER = { lat: 40.1203, lon: -76.2944 };
const IN_SYDNEY = { lat: -33.8688, lon: 151.2093 };

for (const recordSize of [24, 28, 32] as const) {
  test(`finds addresses in an IPv6 database with records of ${recordSize} bits`, async (t) => {
    const networks = { ...NETWORKS, "2001:db8:8000::/33": at(SYDNEY) };
    const locate = await open(t, write(t, mmdb(networks, { recordSize })));
    t.deepEqual(locate("203.0.113.9"), IN_LANCASTER);
    t.deepEqual(locate("::ffff:203.0.113.127"), IN_LANCASTER);
    t.deepEqual(locate("2001:db8:ffff::1"), IN_SYDNEY);
    t.deepEqual(locate("198.51.100.7"), IN_SYDNEY);
    for (const unknown of ["203.0.113.128", "198.51.100.8", "2001:db8::1", "::1", "0.0.0.0", "255.255.255.255"])
      t.is(locate(unknown), null, unknown);
  });
}

test("an IPv4 database has no IPv6 addresses", async (t) => {
  const locate = await open(t, write(t, mmdb({ "32.0.0.0/3": at(SYDNEY), ...NETWORKS }, { ipVersion: 4 })));
  t.deepEqual(locate("203.0.113.9"), IN_LANCASTER);
  t.deepEqual(locate("::ffff:203.0.113.9"), IN_LANCASTER);
  t.is(locate("2001:db8::1"), null);
});

test("networks without valid coordinates and invalid addresses get no place", async (t) => {
  const locate = await open(t, write(t, mmdb(NETWORKS)));
  for (const ip of ["192.0.2.1", "100.64.0.1", "", "home", "203.0.113", "203.0.113.9.1", "1:2", "\u0000"])
    t.is(locate(ip), null, ip);
});

const WHOLE = mmdb(NETWORKS);
const NO_DATABASES: readonly [string, Buffer | string | null, MmdbOptions | null, RegExp][] = [
  ["that is missing", null, null, /ENOENT/],
  ["that is empty", "", null, /not in MaxMind's format/],
  ["of text", "203.0.113.9 Lancaster\n", null, /not in MaxMind's format/],
  ["that is cut off", WHOLE.subarray(0, WHOLE.length / 2), null, /not in MaxMind's format/],
  ["that lacks its beginning", WHOLE.subarray(-200), null, /it is truncated/],
  ["of countries", null, { type: "GeoLite2-Country" }, /of type GeoLite2-Country, which has no coordinates/],
];
for (const [what, bytes, options, reason] of NO_DATABASES) {
  test(`a file ${what} is refused with an error that names it`, async (t) => {
    const content = options === null ? bytes : mmdb(NETWORKS, options);
    const file = content === null ? join(temporaryFolder(t), "none.mmdb") : write(t, content);
    const error = await t.throwsAsync(open(t, file), { instanceOf: StartError });
    t.true(error.message.startsWith(`LOGGIA_GEOIP is ${JSON.stringify(file)}, which is not a GeoIP database: `));
    t.regex(error.message, reason);
  });
}

test("a replaced database is loaded, and an invalid one is ignored", async (t) => {
  const file = write(t, mmdb(NETWORKS));
  const locate = await open(t, file);
  writeFileSync(`${file}.next`, mmdb({ "203.0.113.0/24": at(SYDNEY) }));
  renameSync(`${file}.next`, file);
  await until(() => locate("203.0.113.9")?.lat === IN_SYDNEY.lat, { what: "the new database" });
  t.is(locate("198.51.100.7"), null);

  writeFileSync(`${file}.next`, mmdb(NETWORKS).subarray(0, 300));
  renameSync(`${file}.next`, file);
  await until(() => !existsSync(`${file}.next`), { what: "the file to be in place" });
  // The valid file after it shows that the broken one was seen and did no harm.
  t.deepEqual(locate("203.0.113.9"), IN_SYDNEY);
  writeFileSync(`${file}.next`, mmdb(NETWORKS));
  renameSync(`${file}.next`, file);
  await until(
    () => {
      const place = locate("203.0.113.9");
      t.truthy(place);
      return place?.lat === IN_LANCASTER.lat;
    },
    { what: "the whole database" },
  );
});

for (const kind of KINDS) {
  test(`${kind}: events posted with an address get the place in the database`, async (t) => {
    const environment = environmentOf(kind, temporaryFolder(t));
    const service = await startService({ ...environment, LOGGIA_GEOIP: write(t, mmdb(NETWORKS)) });
    t.teardown(() => service.close());
    for (const geo of ["ip:203.0.113.9", "ip:203.0.113.200", "ip:2001:db8::1", "1.5,-2", ""]) {
      t.is((await post(service, { text: "x", geo })).status, 201);
    }
    const geos = await until(
      async () => {
        await service.ports.store.refresh();
        const { body } = await get(service, `/1/logs/${LOG}/events`);
        const events = body as { geo: unknown }[];
        return events.length === 5 && events.map(({ geo }) => geo);
      },
      { what: "the events" },
    );
    t.deepEqual(geos, [IN_LANCASTER, { ip: "203.0.113.200" }, { ip: "2001:db8::1" }, { lat: 1.5, lon: -2 }, null]);
  });
}

test("a service with a missing database does not start", async (t) => {
  const folder = temporaryFolder(t);
  const environment = { ...environmentOf("embedded", folder), LOGGIA_GEOIP: join(folder, "none.mmdb") };
  const error = await t.throwsAsync(startService(environment), { instanceOf: StartError });
  t.regex(error.message, /^LOGGIA_GEOIP is ".*none[.]mmdb", which is not a GeoIP database: ENOENT/);
});
