import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import type { Said } from "../json-lines.ts";
import type { DockerLine } from "./framing.ts";

/** Where Docker's json-file driver writes, unless its `data-root` is set. */
export const DOCKER_FOLDER = "/var/lib/docker/containers";

type Container = { readonly source: string; readonly attributes: Readonly<Record<string, string>> };

/** Names of containers are read once and kept, this many of them. */
const MAX_KEPT = 1_000;

/** What is known of the lines of a container's file: its name, image, stream and time. */
export function createContainers(): (path: string, line: DockerLine | null) => Promise<Said> {
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
      fields: { source: container.source, ...(time !== "" && { created: time }) },
      others: { ...container.attributes, ...(stream !== "" && { stream }), ...attrs },
    };
  };
}

/** From the configuration that Docker keeps beside the file; the id alone where it can't be read. */
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
