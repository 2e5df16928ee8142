import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import test from "ava";

import { KINDS } from "./support/engine-kinds.ts";
import { environmentOf, get, LOG, postOnce, serviceOf, startService } from "./support/service.ts";
import { temporaryFolder } from "./support/temporary.ts";
import { until } from "./support/until.ts";

for (const kind of KINDS) {
  test(`${kind}: events posted before a restart are there after it`, async (t) => {
    const environment = environmentOf(kind, temporaryFolder(t));
    const first = await startService(environment);
    t.truthy(first.first?.admin);
    const { id } = await postOnce(first, { text: "before" });
    await first.close();
    const second = await startService(environment);
    t.teardown(() => second.close());
    t.is(second.first, null);
    const found = await until(async () => ((await get(second, `/1/logs/${LOG}/events`)).body as { id: string }[])[0], {
      what: "the event of the first life",
    });
    t.deepEqual({ id: found.id }, { id });
    const after = await postOnce(second, { text: "after" });
    t.true((after.id ?? "") > found.id);
  });
}

test("a port in use stops startup with one line and leaves nothing open", async (t) => {
  const service = await serviceOf(t, "embedded");
  const folder = temporaryFolder(t);
  const environment = { ...environmentOf("embedded", folder), LOGGIA_POST: `127.0.0.1:${service.post?.port}` };
  const error = await t.throwsAsync(() => startService(environment), { name: "StartError" });
  t.regex(
    error?.message ?? "",
    /^posting can't listen on 127\.0\.0\.1:\d+: another process listens there; LOGGIA_POST sets another address$/,
  );
  const again = await startService({ ...environment, LOGGIA_POST: "127.0.0.1:0" });
  await again.close();
  t.not(again.first, null, "the first start creates its records once it can listen");
});

test("a port in use of any listener stops the first start before it creates records", async (t) => {
  const tcp = createServer().listen(0, "127.0.0.1");
  const udp = createSocket("udp4").bind(0, "127.0.0.1");
  await Promise.all([once(tcp, "listening"), once(udp, "listening")]);
  t.teardown(() => {
    tcp.close();
    udp.close();
  });
  const environment = environmentOf("embedded", temporaryFolder(t));
  const taken = [`tcp://127.0.0.1:${(tcp.address() as AddressInfo).port}`, `udp://127.0.0.1:${udp.address().port}`];
  for (const address of taken) {
    await t.throwsAsync(() => startService({ ...environment, LOGGIA_SYSLOG: `${address}/${LOG}` }), {
      name: "StartError",
      message: /^syslog can't listen on .*another process listens there; LOGGIA_SYSLOG sets another address$/,
    });
  }
  const again = await startService(environment);
  await again.close();
  t.not(again.first, null);
});

test("a folder of a running service is refused in one line", async (t) => {
  const environment = environmentOf("embedded", temporaryFolder(t));
  const service = await startService(environment);
  t.teardown(() => service.close());
  const error = await t.throwsAsync(() => startService(environment), { name: "StartError" });
  t.false(error?.message.includes("\n"));
  t.regex(error?.message ?? "", /bus\.sqlite/);
});

test("unreachable engines stop startup with one line that names them", async (t) => {
  const nowhere = {
    ...environmentOf("embedded", temporaryFolder(t)),
    KAFKA_BROKERS: "127.0.0.1:1",
    ELASTICSEARCH_URL: "http://127.0.0.1:1",
  };
  const error = await t.throwsAsync(() => startService(nowhere), { name: "StartError" });
  t.false(error?.message.includes("\n"));
  t.regex(error?.message ?? "", /127\.0\.0\.1:1/);
});
