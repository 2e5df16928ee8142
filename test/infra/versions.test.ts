import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "ava";
import { parse } from "yaml";
import { ELASTICSEARCH_IMAGE, KAFKA_IMAGE } from "../../infra/engines/containers.ts";
import { DEFAULT_RELEASE, ELASTICSEARCH_RELEASES } from "../../infra/engines/releases.ts";
import { PROJECT } from "./support.ts";

const read = (file: string): string => readFileSync(join(PROJECT, "infra", file), "utf8");

/** Returns the version after an artifact in a Maven project file. */
function versionOf(artifact: string, pom: string): string | undefined {
  return new RegExp(`<artifactId>${artifact}</artifactId>\\s*<version>([^<]+)</version>`).exec(pom)?.[1];
}

test("compose, testcontainers and local processes run the same releases", (t) => {
  const { services } = parse(read("compose.yaml")) as { services: Record<string, { image: string }> };
  t.is(services["kafka"]?.image, KAFKA_IMAGE);
  const version = `\${ENGINES_ELASTICSEARCH_VERSION:-${ELASTICSEARCH_RELEASES[DEFAULT_RELEASE]}}`;
  t.is(services["elasticsearch"]?.image, `${ELASTICSEARCH_IMAGE}:${version}`);
  t.is(KAFKA_IMAGE.split(":")[1], versionOf("kafka_2.13", read("jvm/kafka/pom.xml")));
  const pom = read("jvm/elasticsearch/pom.xml");
  for (const artifact of ["elasticsearch", "transport-netty4"]) {
    t.is(versionOf(artifact, pom), "${elasticsearch.version}", artifact);
  }
});

test("both services listen on the loopback only", (t) => {
  const { services } = parse(read("compose.yaml")) as { services: Record<string, { ports: string[] }> };
  const ports = Object.values(services).flatMap((service) => service.ports);
  t.is(ports.length, 2);
  for (const port of ports) t.true(port.startsWith("127.0.0.1:"), port);
});
