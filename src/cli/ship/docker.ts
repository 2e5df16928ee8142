import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import { readProducerTime } from "../../ingest/kit/times.ts";
import type { LineMetadata } from "./events.ts";
import type { DockerLine } from "./framing.ts";

/** Folder of Docker's json-file driver, unless `data-root` is set. */
export const DOCKER_FOLDER = "/var/lib/docker/containers";

type Container = { readonly source: string; readonly attributes: Readonly<Record<string, string>> };

/** Most containers whose names are cached. */
const MAX_KEPT = 1_000;

/** Creates a function that returns the container, stream and time of a line of Docker's. */
export function createContainers(): (path: string, line: DockerLine | null) => Promise<LineMetadata> {
  const known = new Map<string, Container>();
  return async (path, line) => {
    const folder = dirname(path);
    let container = known.get(folder);
    if (container === undefined) {
      container = await readContainer(folder);
      if (known.size >= MAX_KEPT) known.clear();
      known.set(folder, container);
    }
    const { stream = "", time = "", attrs = {} } = line ?? {};
    return {
      source: container.source,
      created: readProducerTime(time)?.ms ?? null,
      severity: null,
      attributes: { ...container.attributes, ...(stream !== "" && { stream }), ...attrs },
    };
  };
}

/** Reads the container from its configuration beside the file; only its id if that fails. */
async function readContainer(folder: string): Promise<Container> {
  const id = basename(folder);
  const attributes: Record<string, string> = { "container.id": id };
  try {
    const { Name, Config } = JSON.parse(await readFile(join(folder, "config.v2.json"), "utf8")) as Configuration;
    const name = typeof Name === "string" ? Name.replace(/^\//, "") : "";
    if (name !== "") attributes["container.name"] = name;
    if (typeof Config?.Image === "string") attributes["container.image.name"] = Config.Image;
    return { source: name === "" ? id.slice(0, 12) : name.slice(0, 200), attributes };
  } catch {
    return { source: id.slice(0, 12), attributes };
  }
}

type Configuration = { readonly Name?: unknown; readonly Config?: { readonly Image?: unknown } };
