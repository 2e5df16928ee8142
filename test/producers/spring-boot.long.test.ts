import test from "ava";
import type { ExecutionContext } from "ava";
import { execFile } from "node:child_process";
import { copyFileSync, readdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

import { findJdk } from "../../infra/engines/jdk.ts";
import { copyMavenJars } from "../../infra/maven.ts";
import { eventsOf } from "../ingest/posting.ts";
import { KEY, serviceOf } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { shipAsIn } from "./documented-ship.ts";
import { snippetOf } from "./snippets.ts";

const execute = promisify(execFile);
const PROJECT = join(import.meta.dirname, "spring-boot");

/** Compiles the application. Returns its folder, and the words after `java` that run it. */
async function compileShop(
  t: ExecutionContext,
): Promise<{ home: string; folder: string; shop: string; agent: string }> {
  const jdk = await findJdk();
  const jars = await copyMavenJars(join(PROJECT, "pom.xml"), jdk);
  const agent = readdirSync(jars).find((name) => name.startsWith("opentelemetry-javaagent-"))!;
  const folder = temporaryFolder(t);
  const libraries = readdirSync(jars)
    .filter((name) => name !== agent)
    .map((name) => join(jars, name));
  const path = [folder, ...libraries].join(delimiter);
  const words = ["--release", "17", "-cp", path, "-d", folder, join(PROJECT, "Shop.java")];
  await execute(join(jdk.home, "bin/javac"), words);
  copyFileSync(join(jars, agent), join(folder, "opentelemetry-javaagent.jar"));
  return { home: jdk.home, folder, shop: `-cp ${path} shop.Shop`, agent };
}

test("Spring Boot writes JSON that ship reads", async (t) => {
  t.timeout(600_000);
  const { home, folder, shop } = await compileShop(t);
  writeFileSync(join(folder, "application.properties"), snippetOf("docs/producers/spring-boot.md", "properties"));
  await execute(join(home, "bin/java"), shop.split(" "), { cwd: folder });
  const service = await serviceOf(t, "embedded");
  await shipAsIn(service, "spring-boot", { from: "app.log", to: join(folder, "app.log") });
  const event = (await eventsOf(service, 3)).find(({ text }) => text === "Order 17 failed");
  t.like(event, { source: "shop", tags: ["error"] });
  t.like(event!.attributes, { order: 17, "log.logger": "orders", "error.message": "no stock" });
  t.regex(String(event!.attributes?.["error.stack_trace"]), /IllegalStateException: no stock\n\tat shop\.Shop\.main/);
});

test("OpenTelemetry's agent posts what Spring Boot logs", async (t) => {
  t.timeout(600_000);
  const { home, folder, shop, agent } = await compileShop(t);
  t.log(agent);
  const service = await serviceOf(t, "embedded");
  const replace = { "http://127.0.0.1:8081": service.postUrl, "shop-key-1": KEY, "-jar shop.jar": shop };
  const code = snippetOf("docs/producers/spring-boot.md", "sh", { n: 1, replace });
  const env = { ...process.env, PATH: `${join(home, "bin")}${delimiter}${process.env["PATH"] ?? ""}` };
  await execute("sh", ["-ec", code], { cwd: folder, env });
  const event = (await eventsOf(service, 3)).find(({ text }) => text === "Order 17 failed");
  t.like(event, { source: "shop", tags: ["error"] });
  t.like(event!.attributes, { "otel.scope.name": "orders", "exception.message": "no stock" });
});
