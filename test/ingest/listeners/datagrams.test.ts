import test from "ava";
import type { ExecutionContext } from "ava";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { BlockList } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import { parseLogKey } from "../../../src/events/event.ts";
import type { ListenerCount } from "../../../src/ingest/listeners/tally.ts";
import { listenForSyslog } from "../../../src/ingest/protocols/syslog/listen.ts";
import { until } from "../../support/until.ts";
import { contextOf, socketFor } from "./context.ts";
import { connectTo, sendDatagrams } from "./sockets.ts";

const BURST = 20_000;
/** Sends as fast as the system allows, in a process of its own. */
const SENDER = `
  import { createSocket } from "node:dgram";
  const [port, count] = process.argv.slice(1).map(Number);
  const socket = createSocket("udp4");
  socket.connect(port, "127.0.0.1", async () => {
    for (let i = 0; i < count; i++) {
      socket.send("<14>udp " + i, () => {});
      if (i % 100 === 99) await new Promise(setImmediate);
    }
    socket.close();
  });
`;

/**
 * Sends a burst of datagrams, and lines by TCP meanwhile. Returns how many datagrams were stored, and
 * the longest run of them without a line in between.
 */
async function burst(t: ExecutionContext): Promise<{ datagrams: number; longest: number }> {
  const counts = new Map<string, number>();
  const system: (() => number)[] = [];
  const tallyOf = (name: string) => ({
    connections: 0,
    add: (what: ListenerCount, count = 1) =>
      void counts.set(`${name} ${what}`, (counts.get(`${name} ${what}`) ?? 0) + count),
    watchSystemDrops: (read: () => number) => void system.push(read),
  });
  const { context, bus } = await contextOf(t, { tallyOf });
  const udp = await listenForSyslog(socketFor("udp"), context);
  const tcp = await listenForSyslog(socketFor("tcp"), context);
  const counted = (): number => {
    const [stored = 0, dropped = 0] = ["stored", "dropped"].map((what) => counts.get(`syslog_udp ${what}`) ?? 0);
    return stored + dropped + system.reduce((sum, read) => sum + read(), 0);
  };

  const socket = await connectTo(tcp.port);
  const sender = spawn(process.execPath, ["--input-type=module", "-e", SENDER, String(udp.port), String(BURST)], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const exited = once(sender, "exit");
  let lines = 0;
  const over = new AbortController();
  const writing = (async () => {
    while (!over.signal.aborted) {
      socket.write(`<14>tcp ${lines++}\n`);
      await sleep(2);
    }
  })();
  t.deepEqual(await exited, [0, null]);
  await until(() => Promise.resolve(counted() >= BURST || null), { what: "all datagrams" });
  over.abort();
  await writing;
  socket.end();
  await tcp.close();
  await udp.close();
  t.is(counted(), BURST);

  const texts = bus.texts.map((text) => text.slice(0, 3));
  const datagrams = texts.filter((text) => text === "udp").length;
  t.is(texts.length - datagrams, lines, "no line by TCP is lost");
  let longest = 0;
  for (let at = texts.indexOf("udp"), run = 0; at < texts.lastIndexOf("udp"); at++) {
    run = texts[at] === "udp" ? run + 1 : 0;
    longest = Math.max(longest, run);
  }
  return { datagrams, longest };
}

test("each datagram of a burst is stored or counted as dropped, and TCP continues meanwhile", async (t) => {
  let [datagrams, longest] = [0, 0];
  // A process that gets no processor during a burst finds what its socket's buffer held, in one run.
  for (let attempt = 0; attempt < 5 && (datagrams <= 1_000 || longest >= datagrams / 2); attempt++) {
    ({ datagrams, longest } = await burst(t));
  }
  t.true(datagrams > 1_000, `${datagrams} datagrams were stored`);
  t.true(longest < datagrams / 2, `${longest} of ${datagrams} datagrams were stored without a line in between`);
});

test("the first route that matches a sender receives its datagrams", async (t) => {
  const { context, bus, counts } = await contextOf(t);
  const networks = (network: string): BlockList => {
    const list = new BlockList();
    list.addSubnet(network, 8, "ipv4");
    return list;
  };
  const { routes, ...socket } = socketFor("udp");
  const [route] = routes;
  const listening = await listenForSyslog(
    {
      ...socket,
      routes: [
        { ...route!, from: networks("10.0.0.0"), log: parseLogKey("elsewhere") },
        { ...route!, from: networks("127.0.0.0") },
        { ...route!, log: parseLogKey("elsewhere") },
      ],
    },
    context,
  );
  await sendDatagrams(listening.port, ["<11>here"]);
  await until(() => Promise.resolve(bus.texts.length === 1 || null), { what: "the datagram" });
  t.deepEqual([...bus.logs], [parseLogKey(String(route!.log))]);
  await listening.close();

  const closed = await listenForSyslog({ ...socket, routes: [{ ...route!, from: networks("10.0.0.0") }] }, context);
  await sendDatagrams(closed.port, ["<11>nobody"]);
  await until(() => Promise.resolve(counts.get("refused") === 1 || null), { what: "a refusal" });
  await closed.close();
  t.is(bus.texts.length, 1);
});
