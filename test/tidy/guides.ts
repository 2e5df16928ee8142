import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { ExecutionContext } from "ava";
import { pino } from "pino";

import { GENERATED } from "../../infra/generate/files.ts";
import type { startLoggia } from "../../src/main.ts";
import type { readSettings } from "../../src/settings.ts";
import { environmentOf, postTimesFor } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";

/** Carries out guides of CONTRIBUTING.md in a copy of the service. */

const ROOT = new URL("../..", import.meta.url).pathname;
const DOCS = GENERATED.map(({ name }) => name).filter((name) => name.startsWith("docs/"));
const COPIED = ["src", "pipelines", "infra", "package.json", "tsconfig.json", ...DOCS];
const COPIED_TESTS = "test/reference/number-aggregates.ts";
const run = promisify(execFile);

/** Returns the code that the steps of a guide show, by the first path that each step names. */
export function codeOfGuide(title: string): ReadonlyMap<string, string> {
  const text = readFileSync(join(ROOT, "CONTRIBUTING.md"), "utf8");
  const guide = text.split(`## ${title}\n`)[1]!.split("\n## ")[0]!;
  const steps = guide.split(/^(?=\d\. )/m).flatMap((step): [path: string, code: string][] => {
    const [, code] = /```ts\n([^]*?)```/.exec(step) ?? [];
    const [, path] = /`((?:src|pipelines|test)\/[^`]+\.ts)`/.exec(step) ?? [];
    return code === undefined || path === undefined ? [] : [[path, code.replaceAll(/^ {3}/gm, "")]];
  });
  return new Map(steps);
}

/** A copy of the service, in which a guide is carried out. */
export class ServiceCopy {
  readonly folder: string;

  constructor(t: ExecutionContext) {
    this.folder = temporaryFolder(t);
    for (const part of [...COPIED, COPIED_TESTS])
      cpSync(join(ROOT, part), join(this.folder, part), { recursive: true });
    symlinkSync(join(ROOT, "node_modules"), join(this.folder, "node_modules"));
  }

  create(path: string, code: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true });
    writeFileSync(join(this.folder, path), code);
  }

  /** Changes a file. @throws Error if that changes nothing */
  change(path: string, from: RegExp, to: string): void {
    const text = readFileSync(join(this.folder, path), "utf8");
    const changed = text.replace(from, to);
    if (changed === text) throw new Error(`${path} has no ${from.source}`);
    writeFileSync(join(this.folder, path), changed);
  }

  /** Runs a program of Node in the copy. @throws Error that holds what it printed */
  async run(...program: readonly string[]): Promise<void> {
    await run(process.execPath, program, { cwd: this.folder }).catch((error: unknown) => {
      throw new Error(String((error as { stdout?: unknown }).stdout), { cause: error });
    });
  }

  /** Checks the types of the service and of the page. */
  async checkTypes(): Promise<void> {
    const service = { extends: "./tsconfig.json", include: ["src", "pipelines", COPIED_TESTS], exclude: ["src/web"] };
    this.create("tsconfig.guide.json", JSON.stringify(service));
    const checker = "node_modules/typescript7/bin/tsc";
    await Promise.all([this.run(checker, "-p", "tsconfig.guide.json"), this.run(checker, "-p", "src/web")]);
  }

  async import<Module>(path: string): Promise<Module> {
    return (await import(join(this.folder, path))) as Module;
  }

  /** Starts the service of the copy on embedded engines. */
  async start(t: ExecutionContext, environment: Readonly<Record<string, string>> = {}): Promise<Service> {
    const { readSettings: read } = await this.import<{ readSettings: typeof readSettings }>("src/settings.ts");
    const { startLoggia: start } = await this.import<{ startLoggia: typeof startLoggia }>("src/main.ts");
    const settings = read({ ...environmentOf("embedded", join(this.folder, "data")), ...environment });
    const service = await start(settings, pino({ level: "silent" }), postTimesFor(settings));
    t.teardown(() => service.close());
    const address = (port: number): string => `http://127.0.0.1:${port}`;
    return Object.assign(service, { apiUrl: address(service.api!.port), postUrl: address(service.post!.port) });
  }
}
