import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { startProcess } from "./engine.ts";
import type { Engine } from "./engine.ts";
import { findJdk } from "./jdk.ts";
import { resolveJars } from "./jars.ts";
import type { ProcessOptions } from "./kafka.ts";
import { markOf } from "./processes-of.ts";
import { dataNameOf } from "./releases.ts";
import { askElasticsearch } from "./ready.ts";
import { JVM_FOLDER } from "./settings.ts";
import { updateState } from "./state.ts";

/**
 * Runs Elasticsearch as one local process, with our own launcher. It is the server without its
 * modules: no scripts, by-query calls or `GET /`, and only the core's field types.
 * @throws StartError
 */
export async function startElasticsearchProcess(options: ProcessOptions): Promise<Engine> {
  const { folder, jars, release, port, jvmOptions, say, signal, onStopped } = options;
  const jdk = await findJdk();
  const { elasticsearch, elasticsearchHome } = await resolveJars({ cache: jars, release, jdk, say, signal });
  const home = resolve(folder, dataNameOf(release));
  const config = join(home, "config");
  await mkdir(config, { recursive: true });
  await writeFile(join(config, "elasticsearch.yml"), configuration(home, port));

  const address = `127.0.0.1:${port}`;
  const url = `http://${address}`;
  const mark = markOf(resolve(folder), "elasticsearch");
  return startProcess({
    name: "elasticsearch",
    address,
    command: join(jdk.home, "bin/java"),
    args: [
      "-Xms1g",
      "-Xmx1g",
      ...jvmOptions,
      mark,
      "--module-path",
      elasticsearch,
      "--add-modules=ALL-MODULE-PATH,jdk.net",
      "--enable-native-access=org.elasticsearch.nativeaccess,org.apache.lucene.core",
      join(JVM_FOLDER, "elasticsearch/Launcher.java"),
      elasticsearchHome,
      config,
    ],
    mark,
    log: resolve(folder, "logs/elasticsearch.log"),
    ask: () => askElasticsearch(url),
    onProcess: (pid, ready) => updateState(folder, { way: "processes", elasticsearch: { url, release, pid, ready } }),
    signal,
    onStopped,
  });
}

/** JSON is valid YAML. Disk watermarks are off: developers' disks are full, indices here small. */
function configuration(home: string, port: number): string {
  const settings = {
    "cluster.name": "loggia-local",
    "node.name": "local",
    "path.data": join(home, "data"),
    "path.logs": join(home, "logs"),
    "network.host": "127.0.0.1",
    "http.port": port,
    "http.type": "netty4",
    "transport.port": 0,
    "transport.type": "netty4",
    "discovery.type": "single-node",
    "action.auto_create_index": true,
    "cluster.max_shards_per_node": 5000,
    "cluster.routing.allocation.disk.threshold_enabled": false,
  };
  return `${JSON.stringify(settings, null, 2)}\n`;
}
