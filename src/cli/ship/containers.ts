import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import { readProducerTime } from "../../ingest/kit/times.ts";
import type { ContainerForm, ContainerLine } from "./container-lines.ts";
import type { LineMetadata } from "./events.ts";

/** Folder of Docker's json-file driver, unless `data-root` is set. */
export const DOCKER_FOLDER = "/var/lib/docker/containers";
/** Folder in which Kubernetes keeps the files of all containers of a node. */
export const KUBERNETES_FOLDER = "/var/log/pods";

type Container = { readonly source: string; readonly attributes: Readonly<Record<string, string>> };

/** Most containers whose names are cached. */
const MAX_KEPT = 1_000;

/** Creates a function that returns the container, stream and time of a line of a container. */
export function createContainers(
  form: ContainerForm,
): (path: string, line: ContainerLine | null) => Promise<LineMetadata> {
  const known = new Map<string, Container>();
  return async (path, line) => {
    let container = known.get(path);
    if (container === undefined) {
      container = form === "docker" ? await readContainer(dirname(path)) : containerOfPath(path);
      if (known.size >= MAX_KEPT) known.clear();
      known.set(path, container);
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

/** Reads Docker's configuration beside the file; only the id of the container if that fails. */
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

/** Paths in which Kubernetes names namespace, pod and container. */
const KUBERNETES_PATHS: readonly RegExp[] = [
  // pods/<namespace>_<pod>_<uid>/<container>/<restarts>.log
  /\/(?<namespace>[^/_]+)_(?<pod>[^/_]+)_(?<uid>[^/_]+)\/(?<container>[^/]+)\/\d+\.log[^/]*$/,
  // containers/<pod>_<namespace>_<container>-<id>.log
  /\/(?<pod>[^/_]+)_(?<namespace>[^/_]+)_(?<container>[^/_]+)-(?<id>[\da-f]{64})\.log[^/]*$/,
];
const ATTRIBUTES: Readonly<Record<string, string>> = {
  namespace: "k8s.namespace.name",
  pod: "k8s.pod.name",
  uid: "k8s.pod.uid",
  container: "k8s.container.name",
  id: "container.id",
};

function containerOfPath(path: string): Container {
  for (const form of KUBERNETES_PATHS) {
    const groups = form.exec(path)?.groups;
    if (groups === undefined) continue;
    const attributes = Object.fromEntries(Object.entries(groups).map(([name, value]) => [ATTRIBUTES[name]!, value]));
    return { source: groups["container"]!, attributes };
  }
  return { source: "", attributes: {} };
}
