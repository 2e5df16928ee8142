/** A module and the modules that it imports, as paths from the root. */
export type ImportingModule = { readonly source: string; readonly imports: readonly string[] };

/** The files and folders of one folder that a child of it imports, each with an import as evidence. */
type Arrows = Map<string, Map<string, string>>;

/**
 * Finds cycles between the children of a folder, at every depth: files and folders beside each
 * other that import each other, directly or round a corner.
 *
 * @param modules all modules below the folders that are examined
 * @returns a line for each cycle, with an import for each of its steps
 */
export function folderCycles(modules: readonly ImportingModule[]): string[] {
  const cycles: string[] = [];
  for (const [folder, arrows] of arrowsByFolder(modules)) {
    for (const path of cyclesAmong(arrows)) {
      const steps = path.map((child, i) => arrows.get(child)!.get(path[(i + 1) % path.length]!)!);
      cycles.push(`${folder}: ${[...path, path[0]].join(" → ")} (${steps.join(", ")})`);
    }
  }
  return cycles.toSorted();
}

/** Returns the arrows between the children of each folder. */
function arrowsByFolder(modules: readonly ImportingModule[]): ReadonlyMap<string, Arrows> {
  const folders = new Map<string, Arrows>();
  for (const { source, imports } of modules) {
    for (const imported of imports) {
      const [from, to] = [source.split("/"), imported.split("/")];
      const depth = from.findIndex((part, i) => part !== to[i]);
      // `src` and `pipelines` have no parent, and are not compared.
      if (depth < 1 || to[depth] === undefined) continue;
      const folder = from.slice(0, depth).join("/");
      const arrows = folders.get(folder) ?? new Map<string, Map<string, string>>();
      folders.set(folder, arrows);
      const targets = arrows.get(from[depth]!) ?? new Map<string, string>();
      arrows.set(from[depth]!, targets);
      if (!targets.has(to[depth])) targets.set(to[depth], `${source} → ${imported}`);
    }
  }
  return folders;
}

/** Returns shortest cycles: each child that is part of a cycle is part of one of these. */
function cyclesAmong(arrows: Arrows): readonly string[][] {
  const cycles: string[][] = [];
  const known = new Set<string>();
  for (const child of [...arrows.keys()].toSorted()) {
    if (known.has(child)) continue;
    const cycle = shortestCycle(arrows, child);
    if (cycle === null) continue;
    cycles.push(cycle);
    for (const one of cycle) known.add(one);
  }
  return cycles;
}

/** Returns the shortest way from a child back to it; null if there is none. */
function shortestCycle(arrows: Arrows, start: string): string[] | null {
  const paths: string[][] = [[start]];
  const seen = new Set<string>();
  for (let path = paths.shift(); path !== undefined; path = paths.shift()) {
    for (const next of arrows.get(path.at(-1)!)?.keys() ?? []) {
      if (next === start) return path;
      if (seen.has(next)) continue;
      seen.add(next);
      paths.push([...path, next]);
    }
  }
  return null;
}
