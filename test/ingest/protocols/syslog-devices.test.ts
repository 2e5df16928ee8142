import test from "ava";

import { SyslogDecoder } from "../../../src/ingest/protocols/syslog/decode.ts";
import { parseZone } from "../../../src/query/zone.ts";
import type { Zone } from "../../../src/query/zone.ts";

const NOW_MS = Date.UTC(2026, 10, 26, 12);

function read(line: string, zone: Zone | null = null) {
  const decoder = new SyslogDecoder({ zone, year: null, json: false });
  const { event } = decoder.read(Buffer.from(line), false, NOW_MS);
  const { text, source, time, isTimeUnread } = event;
  const others = [...event.attributes].filter(([name]) => name !== "facility" && name !== "severity");
  const attributes: Readonly<Record<string, unknown>> = Object.fromEntries(others);
  const created = time === null ? null : new Date(time.ms).toISOString();
  return { text, source, created, isTimeUnread: isTimeUnread === true, attributes };
}

type Case = readonly [
  line: string,
  fields: { readonly text: string; readonly source: string; readonly created: string | null },
  attributes: Readonly<Record<string, unknown>>,
];

function readsAs(
  t: { deepEqual(actual: unknown, expected: unknown, message: string): unknown },
  cases: readonly Case[],
) {
  for (const [line, fields, attributes] of cases)
    t.deepEqual(read(line), { ...fields, isTimeUnread: false, attributes }, line);
}

const CONFIGURED = "%SYS-5-CONFIG_I: Configured from console by admin on vty0 (192.0.2.1)";
const msg_id = "SYS-5-CONFIG_I";
const AT = "2026-01-02T22:04:05.000Z";
const AT_MS = "2026-01-02T22:04:05.999Z";
const IN_2025 = "2025-01-02T22:04:05.999Z";

test("messages of IOS are read with sequence numbers, origins and zones", (t) => {
  const [bare, one] = [
    { text: CONFIGURED, source: "" },
    { text: CONFIGURED, source: "router1" },
  ];
  const [named, numbered] = [
    { hostname: "router1", msg_id },
    { msg_id, sequence_id: 123 },
  ];
  readsAs(t, [
    [`<189>Jan 02 22:04:05: ${CONFIGURED}`, { ...bare, created: AT }, { msg_id }],
    [`<189>*Jan  2 22:04:05.999: ${CONFIGURED}`, { ...bare, created: AT_MS }, { msg_id }],
    [`<189>Jan 02 22:04:05 UTC: ${CONFIGURED}`, { ...bare, created: AT }, { msg_id }],
    [`<189>000123: *Jan  2 22:04:05.999 UTC: ${CONFIGURED}`, { ...bare, created: AT_MS }, numbered],
    [`<189>123: .Jan 02 2025 22:04:05.999 UTC: ${CONFIGURED}`, { ...bare, created: IN_2025 }, numbered],
    [`<189>123: Jan 02 2025 15:04:05.999 MST: ${CONFIGURED}`, { ...bare, created: IN_2025 }, numbered],
    [`<189>123: Jan 02 23:04:05 CET: ${CONFIGURED}`, { ...bare, created: AT }, numbered],
    [`<189>123: Jan 03 03:34:05 +0530: ${CONFIGURED}`, { ...bare, created: AT }, numbered],
    [`<189>123: router1: Jan 02 22:04:05: ${CONFIGURED}`, { ...one, created: AT }, { ...named, sequence_id: 123 }],
    [`<189>router1: *Jan 02 22:04:05.999: ${CONFIGURED}`, { ...one, created: AT_MS }, named],
    [
      `<189>30: router1: 6340004: *Jan  2 22:04:05: ${CONFIGURED}`,
      { ...one, created: AT },
      { ...named, sequence_id: [30, 6_340_004] },
    ],
    [
      `<189>123: 2001:db8::1: Jan 02 22:04:05: ${CONFIGURED}`,
      { text: CONFIGURED, source: "2001:db8::1", created: AT },
      { hostname: "2001:db8::1", msg_id, sequence_id: 123 },
    ],
    [`<189>123: ${CONFIGURED}`, { ...bare, created: null }, numbered],
    [`<189>${CONFIGURED}`, { ...bare, created: null }, { msg_id }],
    [`<189>router1: 00:01:01: ${CONFIGURED}`, { ...one, created: null }, { ...named, uptime: "00:01:01" }],
    [`<189>123: 1w2d: ${CONFIGURED}`, { ...bare, created: null }, { ...numbered, uptime: "1w2d" }],
    [
      "<191>000124: Jan  2 15:04:05.999 MST: IP: s=10.0.0.1 (local), d=10.0.0.2, len 60",
      { text: "IP: s=10.0.0.1 (local), d=10.0.0.2, len 60", source: "", created: AT_MS },
      { sequence_id: 124 },
    ],
  ]);
});

test("messages of IOS, NX-OS and IOS-XR that a relay passes on keep both headers", (t) => {
  const flapping = "%C4K_EBM-4-HOSTFLAPPING: Host 00:1B:21:4B:7B:5D in vlan 1 is flapping";
  readsAs(t, [
    [
      `<188>Aug 13 00:10:02 10.43.0.10 1813056: Aug 13 00:15:02: ${flapping}`,
      { text: flapping, source: "10.43.0.10", created: "2026-08-13T00:15:02.000Z" },
      { hostname: "10.43.0.10", msg_id: "C4K_EBM-4-HOSTFLAPPING", sequence_id: 1_813_056 },
    ],
    [
      `<189>Sep  6 09:25:12 RouterName 89: ${CONFIGURED}`,
      { text: CONFIGURED, source: "RouterName", created: "2026-09-06T09:25:12.000Z" },
      { hostname: "RouterName", msg_id, sequence_id: 89 },
    ],
    [
      `<187>2013-08-09T11:09:36+02:00 sw.example.com : 2013 Aug  9 11:09:36.290 CET: %ETHPORT-5-IF_UP: up`,
      { text: "%ETHPORT-5-IF_UP: up", source: "sw.example.com", created: "2013-08-09T10:09:36.290Z" },
      { hostname: "sw.example.com", msg_id: "ETHPORT-5-IF_UP" },
    ],
    [
      "<187>May 22 10:00:00 10.2.5.5 999: RP/0/RP0/CPU0:May 22 10:00:00.000 +06: bgp[1000]: %ROUTING-BGP-5-ADJCHANGE : x",
      { text: "%ROUTING-BGP-5-ADJCHANGE : x", source: "bgp", created: "2026-05-22T04:00:00.000Z" },
      {
        app_name: "bgp",
        hostname: "10.2.5.5",
        msg_id: "ROUTING-BGP-5-ADJCHANGE",
        node: "RP/0/RP0/CPU0",
        proc_id: 1000,
        sequence_id: 999,
      },
    ],
  ]);
  const unread = read(`<189>Sep  6 09:25:12 RouterName 89: Sep  6 16:25:12 ARIZONA: ${CONFIGURED}`);
  t.like(unread, { text: CONFIGURED, source: "RouterName", created: "2026-09-06T09:25:12.000Z", isTimeUnread: true });
});

test("messages of ASA are read with the host before them", (t) => {
  const built = "%ASA-6-302013: Built outbound TCP connection 17 for outside:198.51.100.25/443";
  const [bare, one] = [
    { text: built, source: "" },
    { text: built, source: "fw01" },
  ];
  const attributes = { hostname: "fw01", msg_id: "ASA-6-302013" };
  const created = "2026-11-05T10:11:12.000Z";
  readsAs(t, [
    [`<166>${built}`, { ...bare, created: null }, { msg_id: "ASA-6-302013" }],
    [`<166>Nov 05 2026 10:11:12: ${built}`, { ...bare, created }, { msg_id: "ASA-6-302013" }],
    [`<166>Nov 05 2026 10:11:12 fw01 : ${built}`, { ...one, created }, attributes],
    [`<166>Nov 05 2026 10:11:12 fw01: ${built}`, { ...one, created }, attributes],
    [`<166>Nov 05 2026 10:11:12 FW: ${built}`, { ...one, source: "FW", created }, { ...attributes, hostname: "FW" }],
    [`<166>Nov  5 10:11:12 fw01 ${built}`, { ...one, created }, attributes],
    [`<166>2026-11-05T10:11:12Z fw01 : ${built}`, { ...one, created }, attributes],
    [`<166>1 2026-11-05T10:11:12Z fw01 - - - - ${built}`, { ...one, created }, attributes],
  ]);
});

test("messages of NX-OS are read with the year before the month", (t) => {
  const text = "%ETHPORT-5-IF_DOWN_LINK_FAILURE: Interface Ethernet119/1/36 is down (Link failure)";
  const id = "ETHPORT-5-IF_DOWN_LINK_FAILURE";
  const [bare, created] = [{ text, source: "" }, "2026-07-16T23:56:11.000Z"];
  readsAs(t, [
    [`<189>: 2026 Jul 16 23:56:11 UTC: ${text}`, { ...bare, created }, { msg_id: id }],
    [`<189>: 2026 Jul 17 01:56:11 CEST: ${text}`, { ...bare, created }, { msg_id: id }],
    [`<189>2026 Jul 16 23:56:11 UTC: ${text}`, { ...bare, created }, { msg_id: id }],
    [
      `<190>sw01: 2026 Jul 16 23:56:11 UTC: ${text}`,
      { text, source: "sw01", created },
      { hostname: "sw01", msg_id: id },
    ],
    [`<190>: 2026 Jul 16 23:56:11 UTC: %$VDC-1$ ${text}`, { text: `%$VDC-1$ ${text}`, source: "", created }, {}],
  ]);
});

test("messages of IOS-XR are read with node and process", (t) => {
  const text = "%MGBL-SYS-5-CONFIG_I : Configured from console by admin on vty0 (192.0.2.1)";
  const node = "RP/0/RSP0/CPU0";
  const of = { app_name: "config", msg_id: "MGBL-SYS-5-CONFIG_I", node, proc_id: 65_710 };
  const fields = { text, source: "config", created: AT_MS };
  const hostname = "router1";
  readsAs(t, [
    [`<189>920: ${node}:Jan 02 22:04:05.999 : config[65710]: ${text}`, fields, { ...of, sequence_id: 920 }],
    [`<189>${node}:Jan  2 22:04:05.999 UTC: config[65710]: ${text}`, fields, of],
    [
      `<189>920: router1 ${node}:2026 Jan 02 15:04:05.999 MST: config[65710]: ${text}`,
      fields,
      { ...of, hostname, sequence_id: 920 },
    ],
    [
      `<189>920: router1 ${node}: Jan 02 22:04:05.999 UTC: config[65710]: ${text}`,
      fields,
      { ...of, hostname, sequence_id: 920 },
    ],
    [
      "<189>7: LC/0/1/CPU0:Jan 02 22:04:05.999 UTC: ifmgr[214]: Interface down",
      { text: "Interface down", source: "ifmgr", created: AT_MS },
      { app_name: "ifmgr", node: "LC/0/1/CPU0", proc_id: 214, sequence_id: 7 },
    ],
  ]);
});

test("messages of Meraki are read, whose version is no RFC 5424", (t) => {
  const created = "2018-01-15T04:00:59.626Z";
  const flow = "src=172.21.84.107 dst=10.52.193.137 protocol=tcp sport=50395 dport=443 pattern: allow all";
  readsAs(t, [
    [
      `<134>1 1515988859.626061236 appliance flows ${flow}`,
      { text: flow, source: "flows", created },
      { app_name: "flows", hostname: "appliance" },
    ],
    [
      "<134>1515988859.626061236 MX84 ids-alerts : signature=129:4:1 priority=3",
      { text: "signature=129:4:1 priority=3", source: "ids-alerts", created },
      { app_name: "ids-alerts", hostname: "MX84" },
    ],
    [
      "<134>1 1515988859.626061236 MX84 events Cellular connection up",
      { text: "Cellular connection up", source: "events", created },
      { app_name: "events", hostname: "MX84" },
    ],
  ]);
});

test("a name of a zone is no program, and means what is set if several regions use it or none", (t) => {
  const line = (zone: string) => `<189>Nov 20 20:57:20.720 ${zone}: ${CONFIGURED}`;
  const created = "2026-11-21T01:57:20.720Z";
  t.like(read(line("EST")), { text: CONFIGURED, source: "", created });
  t.like(read(line("EST"), parseZone("Europe/Berlin")), { created }, "a name that means one offset");
  t.is(read(line("CST"), parseZone("America/Chicago")).created, "2026-11-21T02:57:20.720Z");
  t.is(read(line("CST"), parseZone("Asia/Shanghai")).created, "2026-11-20T12:57:20.720Z");
  t.is(read(line("ARIZONA"), parseZone("America/Phoenix")).created, "2026-11-21T03:57:20.720Z");
  for (const zone of ["CST", "ARIZONA"]) {
    const unread = read(line(zone));
    t.like(unread, { text: CONFIGURED, source: "", created: null, isTimeUnread: true }, zone);
    t.is(unread.attributes["time"], `Nov 20 20:57:20.720 ${zone}`);
  }
  t.like(read("<13>Nov 20 20:57:20 CST: shop: not of Cisco"), { text: "not of Cisco", source: "shop" });
  t.like(read("<13>Nov 20 20:57:20 SSHD: of a program"), { text: "of a program", source: "SSHD" });
});

test("messages that only resemble those of devices stay as they are", (t) => {
  for (const text of ["46: no time", "shop: 46: no time", "a/b/c: x", "12:30:00: a time alone", "100%: done"])
    t.like(read(`<13>${text}`), { text, source: "", created: null, attributes: {} }, text);
  t.like(read("<13>Nov 26 10:00:00 box app: %USED is 5"), { text: "%USED is 5", source: "app" });
  t.like(read("<13>Nov 26 10:00:00 box app: 5% of 46: fine"), { text: "5% of 46: fine", source: "app" });
  t.like(read("<13>Nov 26 10:00:00 app: %USED-9-X: x"), { text: "%USED-9-X: x", source: "app" });
});
